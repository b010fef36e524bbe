"""What may be wrong with asking for an operation: apart, because every refusal has to be known by the API."""


class OperationNotFoundError(LookupError):
    """The tenant has no such operation."""


class OperationEndedError(Exception):
    """The operation has come to its end."""
