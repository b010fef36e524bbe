"""The ports in memory: shipped code, held to the same contract as AWS, and the world of the simulation.

All stored values live in one `MemoryState`; the stores are views of it. Conditions are evaluated under its lock, so the
stores may be shared by threads.
"""
