"""References to uploads, as they stand in jobs."""

import re
from typing import Annotated

from carillon.domain.uploads import REFERENCE
from carillon.entrypoint.wire.fields import Rule, refused


def _reference(text: str) -> str:
    if re.fullmatch(REFERENCE, text, re.ASCII) is None:
        raise refused("invalid_value", "allowed: the payload_ref of an upload, pay_ and 26 characters")
    return text


UploadReference = Annotated[str, Rule(_reference, {"pattern": f"^{REFERENCE}$"})]
