"""What the pages of the board read: pictures whose instants are instants, for templates to tell."""

from datetime import datetime
from typing import Any

from asgiref.sync import async_to_sync

from coordination.read import current

Json = dict[str, Any]


def picture(workspace: str, resource: str | None = None, limit: int = current.PAGE) -> Json:
    """As `current.picture`, from a view that is not asynchronous; besides, `until` of each holder and `began`
    of each wait. Raises StorageFault."""
    said = async_to_sync(current.picture)(workspace, resource, limit)
    holders = [{**held, "until": datetime.fromisoformat(held["expiresAt"])} for held in said["holders"]]
    queue = [{**wait, "began": datetime.fromisoformat(wait["since"])} for wait in said["queue"]]
    return {**said, "holders": holders, "queue": queue}


def sections(workspace: str, limit: int) -> list[Json]:
    """The first resources by name, each with its holders and its queue. Raises StorageFault."""
    shown = picture(workspace, limit=limit)
    found: dict[str, Json] = {}
    for part in ("holders", "queue"):
        for said in shown[part]:
            name = said["resource"]
            found.setdefault(name, {"resource": name, "holders": [], "queue": []})[part].append(said)
    return list(found.values())
