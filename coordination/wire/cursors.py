"""The cursors of `GET wait`: opaque, and only those that this service gave are accepted.

A cursor is base64url(tag + name): the name of the last resource of a page, and the first 16 bytes of an
HMAC-SHA256 of workspace and name. So a cursor that was changed, made up, or given in another workspace is
recognised, by every process that has the same secret.
"""

import base64
import binascii
import hmac

from django.utils.crypto import salted_hmac

TAG_LENGTH = 16


def give(workspace: str, name: str) -> str:
    """The cursor of the page that begins after the resource `name`."""
    tag = salted_hmac("coordination.cursor", f"{workspace}\n{name}", algorithm="sha256").digest()
    return base64.urlsafe_b64encode(tag[:TAG_LENGTH] + name.encode()).rstrip(b"=").decode()


def read(workspace: str, cursor: str) -> str:
    """The name that `give` was called with. Raises ValueError for a cursor that was not given there."""
    try:
        data = base64.urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
        name = data[TAG_LENGTH:].decode()
    except (UnicodeError, binascii.Error):
        raise ValueError("is not a cursor that this service gave") from None
    # The whole text is compared: base64 has several spellings of the same bytes.
    if not hmac.compare_digest(give(workspace, name).encode(), cursor.encode("ascii")):
        raise ValueError("is not a cursor that this service gave")
    return name
