"""The stores in DynamoDB. Nothing is imported here, so that the names in `keys` cost nothing to read."""
