"""Recognises a restored database of leases when it is opened, and raises fencing tokens above all that were
given.

Signs of a restore
------------------
- The mark beside the database (`storage/engines/mark.py`): the database is behind it, the mark is missing or
  damaged, or its own file was copied or overwritten. Only the first counts on PostgreSQL, where the mark does
  not have the tokens that processes on other machines gave.
- PostgreSQL: the row about the database was written in another database, cluster or timeline.
- The ledger has receipts that are younger than the database's last pulse.
- An operator ran `manage.py restore`.

How far tokens jump
-------------------
Above the highest token in the database, the marks and the ledger, and then by `TOKENS_PER_MS` for each
millisecond since the database's last pulse, and for one day more, in case a clock was wrong. No resource can
have been granted so often. The new floor is one number for all resources, so that a million of them are
raised at once. It stays below 2^53, above which JSON numbers are not exact everywhere.
"""

import logging
import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from coordination.storage import clock
from coordination.storage.engines.base import Engine, Standing, StorageFault
from coordination.storage.engines.mark import Found, Mark
from coordination.storage.engines.postgres.engine import PostgresEngine
from intramedial.http.formats import rfc3339_of_ms
from intramedial.ledger import log as ledger
from intramedial.receipts.receipt import claims_of

logger = logging.getLogger(__name__)

TOKENS_PER_MS = 100
DAY_MS = 86_400_000
FIRST_MS = 1_735_689_600_000  # 2025-01-01; no token was given before
MOST = 2**53 - 1
ROOM = 2**52  # for the tokens that are given afterwards
LEDGER_ENTRIES = 500
LEDGER_S = 3.0
PULSE_SLACK_MS = 1_500  # not every commit writes a pulse, and the time of a receipt is in whole seconds

Token = Callable[[str, str], int | None]


@dataclass(frozen=True, slots=True)
class Witnesses:
    """What is known of the database from elsewhere. `issued`: when the ledger's last receipt was made, in ms.
    `given`: the highest fencing token in its last receipts. `reasons` of an operator."""

    marks: Sequence[Found] = ()
    issued: int = 0
    given: int = 0
    reasons: list[str] = field(default_factory=list)


def signs(standing: Standing | None, pulse: int | None, token: Token, seen: Witnesses, shared: bool) -> str:
    """Why this database is one that was restored; empty when it was not. `token`: see `Engine.token`."""
    if seen.reasons:
        return ", ".join(seen.reasons)
    marks = [found.mark for found in seen.marks if found.mark is not None]
    # Signs from before the last restore are not new: tokens were raised for them already.
    latest = max(pulse or 0, (standing.restored_at or 0) if standing is not None else 0)
    if any(behind(mark, latest, token) for mark in marks):
        return "the database is older than the mark beside it"
    if not shared and (why := _of_file(standing, seen.marks)):
        return why
    if seen.issued > latest + PULSE_SLACK_MS:
        return "the ledger has receipts that are younger than the database"
    return ""


def _of_file(standing: Standing | None, marks: Sequence[Found]) -> str:
    """Why an embedded database was restored, by the file of its mark, which only the writing process
    writes."""
    if not marks:
        return "" if standing is None else "the mark beside the database is missing"
    found = marks[0]
    if found.mark is None:
        return "the mark beside the database is damaged"
    if not found.own:
        return "the data directory was copied, or overwritten by a copy"
    # A database gets its id before its mark is written for the first time.
    if standing is None or found.mark.database != standing.database_id:
        return "the mark beside the database is another database's"
    return ""


def behind(mark: Mark, pulse: int, token: Token) -> bool:
    """Whether a database with this last pulse is older than the last commit in the mark."""
    if mark.pulse > pulse:
        return True
    if mark.witness is None:
        return False
    workspace, resource, given = mark.witness
    known = token(workspace, resource)
    return known is not None and known < given  # a forgotten workspace is no sign


def floor_above(highest: int, since: int, now: int) -> int:
    """The new floor: `highest` was given, and `since` that instant, in ms, an unknown number of tokens more.
    Raises StorageFault when there are no numbers left."""
    # Not rounded: when the same backup is put back twice, the second floor is above all tokens in between.
    floor = highest + TOKENS_PER_MS * (max(0, now - since) + DAY_MS)
    if floor >= MOST - ROOM:
        raise StorageFault(
            f"fencing tokens would have to rise above {floor}, too much for JSON numbers: is the clock right?"
        )
    return floor


def recognise(engine: Engine, seen: Witnesses) -> Standing:
    """Raise the tokens of a restored database, give a new database its standing, and adopt the mark.

    Raises StorageFault, and OSError when the mark cannot be written.
    """
    standing, pulse = engine.standing(), engine.pulse()
    why = signs(standing, pulse, engine.token, seen, engine.shared) or engine.moved()
    marks = [found.mark for found in seen.marks if found.mark is not None]
    highest = max([seen.given, *(mark.highest for mark in marks)])
    if why:
        marked = max([seen.issued, *(mark.pulse for mark in marks)])
        now = max(engine.latest(), marked, 0 if engine.shared else clock.wall_ms())
        since = _since(engine, pulse, seen)
        fresh = Standing(secrets.token_hex(16), restored_at=now, why=why)
        standing = engine.raise_floor(
            "" if standing is None else standing.database_id,
            fresh,
            lambda known: floor_above(max(highest, known), since, now),
        )
        _report(standing)
    elif standing is None:
        standing = engine.introduce(secrets.token_hex(16))
    if engine.marker is not None:
        first = not engine.marker.mark.database
        known = max(highest, standing.token_floor, engine.highest() if first else 0)
        engine.marker.adopt(standing.database_id, known, pulse or 0)
    return standing


def take(engine: Engine) -> None:
    """Recognise the database of this writer before it gives the first token. On PostgreSQL this is repeated
    for each new session, because the database may have been restored while none was open.

    Raises StorageFault.
    """
    issued, given = of_ledger()

    def meet() -> None:
        try:
            recognise(engine, Witnesses(_marks(engine), issued, given))
        except OSError as error:
            raise StorageFault(f"the mark of the database of leases: {error}") from error

    if isinstance(engine, PostgresEngine):
        engine.met = meet
    else:
        meet()


def _marks(engine: Engine) -> Sequence[Found]:
    return engine.marker.look() if engine.marker is not None else ()


def _since(engine: Engine, pulse: int | None, seen: Witnesses) -> int:
    """Up to which instant, in ms, all tokens are known. An embedded mark has all grants up to its last
    pulse; on PostgreSQL other processes gave tokens that the mark does not have."""
    pulses = [found.mark.pulse for found in seen.marks if found.mark is not None and not engine.shared]
    return max([pulse or 0, *pulses]) or FIRST_MS


def _report(standing: Standing) -> None:
    logger.warning(
        "the database of leases was restored: %s. Every fencing token is above %d from now on, so that none"
        " is given twice. Leases given after the backup are not known here: their holders may believe in"
        " them until they run out. docs/restore.md says more",
        standing.why,
        standing.token_floor,
        extra={"tokensAbove": standing.token_floor},
    )


def last_restore(standing: Standing | None) -> dict[str, object] | None:
    """`{"at", "tokensAbove", "why"}` of the last restore; None when there was none."""
    if standing is None or standing.restored_at is None:
        return None
    return {
        "at": rfc3339_of_ms(standing.restored_at),
        "tokensAbove": standing.token_floor,
        "why": standing.why,
    }


def of_ledger(within_s: float = LEDGER_S) -> tuple[int, int]:
    """When the last receipt in the ledger was made, in ms, and the highest token in the last receipts.
    Zeros when the ledger does not answer in time: leases must not depend on it."""
    found: list[tuple[int, int]] = []
    thread = threading.Thread(target=lambda: found.append(_of_leaves(_leaves())), daemon=True)
    thread.start()
    thread.join(within_s)
    return found[0] if found else (0, 0)


def _leaves() -> list[str]:
    try:
        return ledger.newest(LEDGER_ENTRIES)
    except Exception as error:
        logger.info("the ledger was not asked for the last receipts: %s: %s", type(error).__name__, error)
        return []
    finally:
        ledger.close()


def _of_leaves(leaves: Sequence[str]) -> tuple[int, int]:
    issued = given = 0
    for leaf in leaves:
        claims = claims_of(leaf)
        issued = max(issued, int(claims.get("iat", 0)) * 1000)
        result = claims.get("result")
        if isinstance(result, dict):
            for part in (result, *result.values()):
                if isinstance(part, dict) and isinstance(part.get("fencingToken"), int):
                    given = max(given, part["fencingToken"])
    return issued, given
