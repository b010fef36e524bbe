"""The local AWS: ministack in a process of its own, made prompt, durable and unable to outlive its starter.

`python -m carillon_cli.dev.local_aws --port P --directory D` serves until SIGTERM or until its standard input ends.
"""
