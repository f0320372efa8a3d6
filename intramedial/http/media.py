"""Media types of request bodies."""

from collections.abc import Mapping

from intramedial.http.problems import Problem

JSON = "application/json"


def require_json(headers: Mapping[str, str]) -> None:
    """Problem (415) unless a body with these header fields is JSON in UTF-8 without a content coding."""
    given = headers.get("content-type", "")
    if given != JSON and not _is_json(given):
        said = f"not {given[:80]!r}" if given else "which is missing"
        raise Problem("unsupported_media_type", f"The body must have Content-Type: {JSON}, {said}.")
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise Problem("unsupported_media_type", "The body must come without a Content-Encoding.")


def _is_json(content_type: str) -> bool:
    media_type, *parameters = content_type.lower().split(";")
    if media_type.strip() != JSON:
        return False
    pairs = (parameter.partition("=") for parameter in parameters)
    return all(value.strip().strip('"') == "utf-8" for name, _, value in pairs if name.strip() == "charset")
