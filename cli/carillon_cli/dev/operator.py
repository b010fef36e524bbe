"""The operator of the local AWS: an environment in which everything that says "AWS" means the local one."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from carillon_cli.dev.project import CREDENTIALS, REGION, search_path


def environment(endpoint: str, inherited: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The caller's environment without its AWS, and with the local one in its place."""
    kept = {name: value for name, value in inherited.items() if not name.startswith(("AWS_", "CDK_"))}
    return kept | {
        **CREDENTIALS,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_REGION": REGION,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "CDK_DISABLE_CLI_TELEMETRY": "1",
        "JSII_SILENCE_WARNING_DEPRECATED_NODE_VERSION": "1",
        "JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION": "1",
        "NO_PROXY": ",".join(filter(None, [inherited.get("NO_PROXY"), "127.0.0.1", "localhost"])),
        "PATH": search_path(),
    }


@contextmanager
def local_operator(endpoint: str) -> Iterator[None]:
    """Be that operator in this process, for clients that look into the environment."""
    former = dict(os.environ)
    os.environ.clear()
    os.environ.update(environment(endpoint, former))
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(former)
