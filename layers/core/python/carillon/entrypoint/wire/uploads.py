"""The document of an upload."""

from typing import Annotated

from carillon.domain.uploads import CONTENT_TYPE, MOST_TYPE_CHARACTERS, MOST_UPLOAD_BYTES, is_content_type
from carillon.entrypoint.json_text import JsonObject
from carillon.entrypoint.wire.fields import Document, Rule, refused, told, within
from carillon.entrypoint.wire.refusals import validated


def _content_type(text: str) -> str:
    if not is_content_type(text):
        raise refused(
            "invalid_value", f"allowed: a media type such as image/png, up to {MOST_TYPE_CHARACTERS} characters"
        )
    return text


class UploadDocument(Document):
    """What is to be uploaded."""

    content_type: Annotated[
        str,
        Rule(_content_type, {"pattern": f"^{CONTENT_TYPE}$", "maxLength": MOST_TYPE_CHARACTERS}),
        told("a media type, with parameters if it has any, up to 255 characters. The receiver gets it as it stands"),
    ]
    size: Annotated[int, within(1, MOST_UPLOAD_BYTES), told("in bytes, 1 to 4,194,304 (4 MiB)")]


def read_upload(sent: JsonObject) -> UploadDocument:
    """What is to be uploaded.

    Raises:
        Refusal: something in it is not valid; each error names its field.
    """
    return validated(UploadDocument, sent.members)
