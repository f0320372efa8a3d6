"""Whatever is granted, crashes and is restored, in any order: no token of a resource is given twice."""

import shutil
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from coordination.authority import restoring
from coordination.core.decide import decide
from coordination.core.messages import Acquire, Command, Granted, Outcome, Release
from coordination.core.model import Mode, Rules
from coordination.storage import clock
from coordination.storage.engines.mark import SLACK_NS, read_mark
from coordination.storage.engines.sqlite.engine import SqliteEngine
from coordination.storage.engines.sqlite.files import prepare
from coordination.storage.store import Needs, Store

RESOURCES = [("ws_1", "lock:a"), ("ws_1", "lock:b"), ("ws_2", "lock:a")]
PARTS = ("leases.sqlite3", "leases.sqlite3-wal", "leases.mark")


class Restores(RuleBasedStateMachine):
    """The model: the tokens given for each resource, the points that were backed up, and whether the next
    start follows a restore that lost grants."""

    template: Path

    @initialize()
    def install(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="intramedial-restores-"))
        self.data = self.root / "data"
        self.data.mkdir()
        self.file = self.data / "leases.sqlite3"
        shutil.copy(self.template, self.file)
        self.given: dict[tuple[str, str], list[int]] = defaultdict(list)
        self.backups: list[tuple[Path, int]] = []
        self.count = 0
        self.now = clock.wall_ms()
        self.lost = False  # whether a restore since the last start lost grants
        self.start()

    def start(self) -> None:
        prepare(self.file, lambda: True)
        self.engine = SqliteEngine(self.file, marked=True)
        before = self.engine.standing()
        seen = restoring.Witnesses(self.engine.marker.look() if self.engine.marker else ())
        after = restoring.recognise(self.engine, seen)
        raised = after.restored_at is not None and (before is None or before.database_id != after.database_id)
        assert raised or not self.lost, "grants were lost and it was not reported"
        assert self.restored or not raised, "nothing was restored, and tokens were raised"
        self.lost = self.restored = False
        self.now = max(self.now, self.engine.latest(), after.restored_at or 0) + 1
        self.store = Store(self.engine, Rules(), outage_after_ms=None, remember=True)
        self.running = True

    restored = False

    def commit(self, command: Command, at: tuple[str, str]) -> Outcome:
        workspace, name = at
        needs = {workspace: Needs({name}, {"did:a"}, {name: {"did:a"}})}
        with self.store.transaction(needs, lambda: self.now) as transaction:
            return decide(transaction.worlds[workspace], command, self.now)

    @precondition(lambda self: self.running)
    @rule(at=st.sampled_from(RESOURCES), passes=st.sampled_from([0, 1, 300]))
    def grant(self, at: tuple[str, str], passes: int) -> None:
        self.now += passes
        self.count += 1
        outcome = self.commit(Acquire(at[1], Mode.EXCLUSIVE, "did:a", f"lse_{self.count}_{id(self)}"), at)
        assert isinstance(outcome, Granted)
        token = outcome.lease.token
        assert token > max(self.given[at], default=0)
        self.given[at].append(token)
        self.commit(Release(at[1], "did:a", None), at)

    @precondition(lambda self: self.running)
    @rule()
    def forget(self) -> None:
        self.store.purge("ws_1", ["lock:a", "lock:b"], self.now + 1)

    @rule()
    def back_up(self) -> None:
        to = self.root / f"backup-{len(self.backups)}"
        to.mkdir()
        for name in PARTS:
            if (self.data / name).exists():
                shutil.copy(self.data / name, to / name)
        self.backups.append((to, self.count))
        if self.running:
            self.grant(RESOURCES[0], 1)  # so that there is something to lose

    @precondition(lambda self: self.running)
    @rule()
    def stop(self) -> None:
        self.engine.close()
        self.running = False

    @precondition(lambda self: self.running)
    @rule()
    def crash(self) -> None:
        """What `kill -9` leaves: the files as they are, without a clean shutdown."""
        crashed = self.root / f"crashed-{self.count}-{len(self.backups)}"
        self.data.rename(crashed)  # SQLite tidies up no files that are not in their place
        self.engine.close()
        crashed.rename(self.data)
        self.running = False

    @precondition(lambda self: not self.running)
    @rule()
    def start_again(self) -> None:
        self.start()

    @precondition(lambda self: self.backups)
    @rule(data=st.data(), whole=st.booleans(), in_place=st.booleans(), crashes=st.booleans())
    def put_back(self, data: st.DataObject, whole: bool, in_place: bool, crashes: bool) -> None:
        if self.running and crashes:
            self.crash()
        elif self.running:
            self.stop()
        source, count = data.draw(st.sampled_from(self.backups))
        # Later than the mark was written, as by any hand: a copy within its tolerance could not be
        # recognised.
        found = read_mark(source / "leases.mark")
        while found is not None and found.mark is not None and time.time_ns() < found.mark.at + 2 * SLACK_NS:
            time.sleep(0.001)
        # A log that is left beside the restored file alone is covered by another test.
        for name in PARTS if whole else PARTS[:2]:
            target = self.data / name
            if not (source / name).exists():
                target.unlink(missing_ok=True)
            elif in_place and target.exists():
                target.write_bytes((source / name).read_bytes())
            else:
                target.unlink(missing_ok=True)
                shutil.copy(source / name, target)
        self.restored = True
        self.lost = self.lost or count < self.count
        self.start()

    def teardown(self) -> None:
        if hasattr(self, "root"):
            self.engine.close()
            shutil.rmtree(self.root, ignore_errors=True)


def test_no_token_is_given_twice(sqlite_template: Path) -> None:
    Restores.template = sqlite_template
    machine = Restores.TestCase
    machine.settings = settings(max_examples=25, stateful_step_count=12, deadline=None)
    machine().runTest()
