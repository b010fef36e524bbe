"""What Carillon decides, as values: no AWS, no I/O, no clock, no randomness."""
