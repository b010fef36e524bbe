"""The use cases, one a file: each reads through ports, asks the domain, and writes through ports."""
