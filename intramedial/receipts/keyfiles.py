"""The files that hold the signing keys: one JWK each, numbered, written once and never changed.

The directory is private (0700), and so is each file (0600). A finished file gets its name by a link to the
next free number. The link fails if another process was first, so no lock is needed, and no process reads half
a file.
"""

import contextlib
import json
import os
import re
import secrets
from pathlib import Path
from typing import Any

_NAME = re.compile(r"(\d{6})\.jwk")


class KeyFileError(Exception):
    """A signing key's file cannot be used. The message names the file and nothing of its contents."""


def names(directory: Path) -> list[str]:
    """The names of the key files, oldest first. Empty if there is no directory yet."""
    try:
        return sorted(name for name in os.listdir(directory) if _NAME.fullmatch(name))
    except FileNotFoundError:
        return []


def read(file: Path) -> dict[str, Any]:
    """The JWK in a file, or :class:`KeyFileError`."""
    try:
        document = json.loads(file.read_bytes())
    except (OSError, ValueError) as error:
        # Without the cause: a parser's error holds the whole text, which is the private key.
        raise KeyFileError(f"{file} cannot be read: {type(error).__name__}") from None
    if not isinstance(document, dict):
        raise KeyFileError(f"{file} is not a JWK")
    return document


def add(directory: Path, document: dict[str, Any], *, number: int | None = None) -> bool:
    """Write a JWK under the next free number, or under ``number``: False if another process took that
    number."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    directory.chmod(0o700)  # an operator may have made it
    draft = directory / f".draft-{os.getpid()}-{secrets.token_hex(8)}"
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as handle:
            handle.write(json.dumps(document).encode())
            handle.flush()
            os.fsync(handle.fileno())
        wanted = number
        while True:
            number = wanted or _next_number(directory)
            try:
                os.link(draft, directory / f"{number:06d}.jwk")
            except FileExistsError:
                if wanted:
                    return False
            else:
                _sync_directory(directory)
                return True
    finally:
        draft.unlink(missing_ok=True)


def _next_number(directory: Path) -> int:
    present = names(directory)
    return int(present[-1][:6]) + 1 if present else 1


def _sync_directory(directory: Path) -> None:
    # The new name must survive a power cut, since every receipt of the key relies on it.
    with contextlib.suppress(OSError):  # some systems cannot sync a directory
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
