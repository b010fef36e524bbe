"""The `carillon` command: what people and programs at a terminal use."""
