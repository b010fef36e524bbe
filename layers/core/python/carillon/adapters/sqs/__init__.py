"""The queues in SQS."""
