"""The local development environment: a local AWS, the deployed stack and its API, started by one command."""
