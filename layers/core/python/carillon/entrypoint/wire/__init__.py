"""The documents that clients send: their shape, and the reading of them into checked values."""
