"""What the use cases need of the world: protocols with their contracts.

Every adapter of a protocol is held to one contract suite. Instants are epoch ms. A lost race is an ordinary result; an
exception means that the world did not answer (`UnavailableError`), and whatever was asked may or may not have happened.
"""
