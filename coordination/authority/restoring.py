"""A restored database of leases is recognised at the start; fencing tokens jump above all that were given.

What tells of a restore
-----------------------
- The mark beside the database (`storage/engines/mark.py`): the database is behind it, the mark is missing or
  damaged, or its own file was copied or overwritten. Only the first of these counts on PostgreSQL, where
  processes on other machines have no mark of what was given here.
- PostgreSQL: the row about the database was written in another database, cluster or timeline.
- The ledger has receipts that are younger than the database's last pulse.
- An operator says so: `manage.py restore`.

How far tokens jump
-------------------
Above the highest token that the database, the marks and the ledger know of, and further by `TOKENS_PER_MS`
for each millisecond since the database's last pulse, and for one day more, should a clock have been wrong. No
resource can have been granted as often as that: a grant takes about a third of a millisecond. The new floor
is one number for all resources, so that a million of them are raised at once. It stays below 2^53, above
which JSON numbers are not exact everywhere.
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
from coordination.wire import serialize
from intramedial.ledger import log as ledger
from intramedial.receipts.receipt import claims_of

logger = logging.getLogger(__name__)

TOKENS_PER_MS = 100
DAY_MS = 86_400_000
FIRST_MS = 1_735_689_600_000  # 2025-01-01; no token was given before
MOST = 2**53 - 1
ROOM = 2**52  # for what is given afterwards
LEDGER_ENTRIES = 500
LEDGER_S = 3.0
PULSE_SLACK_MS = 1_500  # a pulse is not noted with every commit, and receipts tell whole seconds

Token = Callable[[str, str], int | None]


@dataclass(frozen=True, slots=True)
class Witnesses:
    """What is known of the database besides itself. `issued`: when the ledger's last receipt was made, in ms;
    `given`: the highest fencing token among its last receipts."""

    marks: Sequence[Found] = ()
    issued: int = 0
    given: int = 0
    said: list[str] = field(default_factory=list)  # by an operator


def signs(standing: Standing | None, pulse: int | None, token: Token, seen: Witnesses, shared: bool) -> str:
    """Why this database is one that was restored; empty when it is not. `token`: see `Engine.token`."""
    if seen.said:
        return ", ".join(seen.said)
    marks = [found.mark for found in seen.marks if found.mark is not None]
    # What tokens were raised for already tells of nothing new.
    latest = max(pulse or 0, (standing.restored_at or 0) if standing is not None else 0)
    if any(behind(mark, latest, token) for mark in marks):
        return "the database is older than the mark beside it"
    if not shared and (why := _of_file(standing, seen.marks)):
        return why
    if seen.issued > latest + PULSE_SLACK_MS:
        return "the ledger has receipts that are younger than the database"
    return ""


def _of_file(standing: Standing | None, marks: Sequence[Found]) -> str:
    """Embedded: only the process that writes the database writes its mark."""
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
    """Whether a database with this last pulse is older than the last commit that the mark tells of."""
    if mark.pulse > pulse:
        return True
    if mark.witness is None:
        return False
    workspace, resource, given = mark.witness
    known = token(workspace, resource)
    return known is not None and known < given  # a workspace that is no more tells nothing


def floor_above(highest: int, since: int, now: int) -> int:
    """What tokens are above from now on: `highest` is known to have been given, and since that instant, in
    ms, nobody knows how many. Raises StorageFault when there are no numbers left."""
    # Not rounded: the same backup put back twice is raised further by all the time in between.
    floor = highest + TOKENS_PER_MS * (max(0, now - since) + DAY_MS)
    if floor >= MOST - ROOM:
        raise StorageFault(
            f"fencing tokens would have to rise above {floor}, too much for JSON numbers: is the clock right?"
        )
    return floor


def recognise(engine: Engine, seen: Witnesses) -> Standing:
    """Raise the tokens of a database that was restored, give a new one its standing, and take the mark.

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
    """Recognise the database of this writer before it gives the first token; on PostgreSQL again whenever it
    is met anew, for it may have been restored while nobody was connected.

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
    """Up to when it is known what was given, in ms. Embedded, a mark of our own tells of all grants up to its
    last pulse; on PostgreSQL others gave tokens that it does not tell of."""
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


def told(standing: Standing | None) -> dict[str, object] | None:
    """`{"at", "tokensAbove", "why"}` of the last restore; None when there was none."""
    if standing is None or standing.restored_at is None:
        return None
    return {
        "at": serialize.instant(standing.restored_at),
        "tokensAbove": standing.token_floor,
        "why": standing.why,
    }


def of_ledger(within_s: float = LEDGER_S) -> tuple[int, int]:
    """(when the last receipt in the ledger was made, in ms; the highest token in the last ones); zeros when
    the ledger does not answer in time: no lease depends on it."""
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
        said = claims_of(leaf)
        issued = max(issued, int(said.get("iat", 0)) * 1000)
        result = said.get("result")
        if isinstance(result, dict):
            for part in (result, *result.values()):
                if isinstance(part, dict) and isinstance(part.get("fencingToken"), int):
                    given = max(given, part["fencingToken"])
    return issued, given
