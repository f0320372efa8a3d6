"""Several server processes on one listening socket, and one process that supervises them.

The supervisor binds the socket, starts the workers, replaces those that end, and stops them all. It serves no
requests, so no request can make it fail.

- Every worker that ends is replaced. One that had served for `STEADY_S` is replaced at once. A start that
  failed is repeated after a pause that doubles up to `PAUSE_MOST_S`, with jitter, while the other workers go
  on serving.
- A worker that is not ready after `START_WITHIN_S`, or whose event loop sends no sign of life for `SILENT_S`,
  is killed and replaced.
- If no worker serves and each of them has failed to start `TRIES` times in a row (`FIRST_TRIES` if none ever
  served), the supervisor ends with exit code 1. Otherwise callers would connect to a socket that no process
  accepts from.
- SIGTERM or SIGINT stops all workers, each after its requests under way, and the exit code is 0.
- Each worker holds the reading end of a pipe, the lifeline; only the supervisor has the writing end. When the
  supervisor ends, by `kill -9` too, the workers read the end of the pipe and stop.
"""

import contextlib
import logging
import os
import random
import selectors
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from types import FrameType

logger = logging.getLogger(__name__)

READY, BEAT = b"r", b"."
TICK_S = 0.2
START_WITHIN_S = 60.0
SILENT_S = 30.0
STEADY_S = 10.0  # a worker that served for so long did not fail to start
PAUSE_FIRST_S, PAUSE_MOST_S = 0.5, 30.0
FIRST_TRIES, TRIES = 3, 5
STOP_S = 30.0  # for the requests under way, the authority and the databases


class Worker:
    """A running worker process. Instants are the supervisor's, in seconds."""

    def __init__(self, command: Sequence[str], listener: int, lifeline: int, now: float) -> None:
        self.status, theirs = os.pipe()
        os.set_blocking(self.status, False)
        try:
            # A group of its own: Ctrl-C is for the supervisor, which stops the workers in order.
            self.process = subprocess.Popen(  # noqa: S603
                [*command, f"--worker={listener},{lifeline},{theirs}"],
                stdin=subprocess.DEVNULL,
                pass_fds=(listener, lifeline, theirs),
                process_group=0,
            )
        except OSError:
            os.close(self.status)
            raise
        finally:
            os.close(theirs)
        self.started_at = self.heard_at = now
        self.serves_since: float | None = None
        self.killed_for = ""

    def listen(self, now: float) -> bool:
        """Read its reports, and return whether it has just become ready."""
        with contextlib.suppress(BlockingIOError):
            if reports := os.read(self.status, 4096):
                self.heard_at = now
                if READY in reports and self.serves_since is None:
                    self.serves_since = now
                    return True
        return False

    def kill(self, why: str) -> None:
        """Kill it at once."""
        self.killed_for = why
        self.process.kill()

    def how_it_ended(self) -> str:
        """How it ended, in words."""
        code = self.process.returncode
        if self.killed_for:
            return f"was killed: {self.killed_for}"
        if code < 0:
            with contextlib.suppress(ValueError):
                return f"was ended by {signal.Signals(-code).name}"
        return f"ended with exit code {code}"


class Slot:
    """The place of one worker. Several processes may fill it one after the other."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.worker: Worker | None = None
        self.failures = 0  # starts that failed in a row
        self.start_at = 0.0

    @property
    def serves(self) -> bool:
        """Whether its worker is ready."""
        return self.worker is not None and self.worker.serves_since is not None


class Supervisor:
    """Runs `count` workers. `command` starts one and gets `--worker=LISTENER,LIFELINE,STATUS`, three file
    descriptors. `announce` is called once, when the first worker serves."""

    def __init__(
        self, command: Sequence[str], count: int, listener: socket.socket, announce: Callable[[], None]
    ) -> None:
        self._command = command
        self._listener = listener
        self._announce: Callable[[], None] | None = announce
        self._slots = [Slot(number) for number in range(1, count + 1)]
        self._selector = selectors.DefaultSelector()
        self._lifeline, self._held = os.pipe()
        self._stopping = False
        # Seconds in which the supervisor ran. While it was stopped itself, its workers were not silent.
        self._now = 0.0

    def run(self) -> int:
        """Supervise until a signal stops it, and return the exit code."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        try:
            return self._watch()
        finally:
            self._end_all()

    def _watch(self) -> int:
        looked_at = time.monotonic()
        while not self._stopping:
            for slot in self._slots:
                self._look_after(slot)
            if self._hopeless():
                logger.critical("no server process can be started, and none serves: the server ends")
                return 1
            ready = self._selector.select(TICK_S)
            looked_at, before = time.monotonic(), looked_at
            self._now += min(looked_at - before, 1.0)
            for key, _ in ready:
                self._listen(key.data)
        return 0

    def _stop(self, signum: int, frame: FrameType | None) -> None:
        self._stopping = True

    def _hopeless(self) -> bool:
        tries = TRIES if self._announce is None else FIRST_TRIES
        return not any(slot.serves for slot in self._slots) and all(
            slot.failures >= tries for slot in self._slots
        )

    def _listen(self, slot: Slot) -> None:
        if slot.worker is not None and slot.worker.listen(self._now):
            logger.info("server process %d serves", slot.number, extra={"pid": slot.worker.process.pid})
            if self._announce is not None:
                self._announce()
                self._announce = None

    def _look_after(self, slot: Slot) -> None:
        worker = slot.worker
        if worker is None:
            if self._now >= slot.start_at:
                self._start(slot)
        elif worker.process.poll() is not None:
            self._ended(slot, worker)
        elif worker.killed_for:
            return  # it will end soon
        elif worker.serves_since is None and self._now - worker.started_at > START_WITHIN_S:
            worker.kill(f"it was not ready after {START_WITHIN_S:g} s")
        elif worker.serves_since is not None and self._now - worker.heard_at > SILENT_S:
            worker.kill(f"it gave no sign of life for {SILENT_S:g} s")

    def _start(self, slot: Slot) -> None:
        try:
            worker = Worker(self._command, self._listener.fileno(), self._lifeline, self._now)
        except OSError as error:
            logger.error("server process %d cannot be started: %s", slot.number, error)
            self._pause(slot)
            return
        slot.worker = worker
        self._selector.register(worker.status, selectors.EVENT_READ, slot)
        logger.info("server process %d starts", slot.number, extra={"pid": worker.process.pid})

    def _ended(self, slot: Slot, worker: Worker) -> None:
        self._let_go(worker)
        slot.worker = None
        steady = worker.serves_since is not None and self._now - worker.serves_since >= STEADY_S
        pause_s = self._pause(slot) if not steady else 0.0
        if steady:
            slot.failures, slot.start_at = 0, self._now
        logger.error(
            "server process %d %s; another is started in %.1f s",
            slot.number,
            worker.how_it_ended(),
            pause_s,
            extra={"pid": worker.process.pid, "failures": slot.failures},
        )

    def _pause(self, slot: Slot) -> float:
        """Set when to start again after a failure, and return in how many seconds that is."""
        slot.failures += 1
        most_s = min(PAUSE_MOST_S, PAUSE_FIRST_S * 2.0 ** min(slot.failures - 1, 16))
        pause_s = most_s * random.uniform(0.5, 1.0)  # noqa: S311
        slot.start_at = self._now + pause_s
        return pause_s

    def _let_go(self, worker: Worker) -> None:
        self._selector.unregister(worker.status)
        os.close(worker.status)

    def _end_all(self) -> None:
        self._listener.close()  # so that no new connection waits for a server that ends
        workers = [slot.worker for slot in self._slots if slot.worker is not None]
        for worker in workers:
            worker.process.terminate()
        deadline = time.monotonic() + STOP_S
        for worker in workers:
            try:
                worker.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                logger.error(
                    "a server process did not stop within %g s and was killed",
                    STOP_S,
                    extra={"pid": worker.process.pid},
                )
                worker.process.kill()
                worker.process.wait()
            self._let_go(worker)


# --- in a worker -----------------------------------------------------------------------------------


class Line:
    """A worker's side: its reports, and the lifeline. `given` is the value of the option `--worker`."""

    def __init__(self, given: str) -> None:
        self.listener, self._lifeline, self._status = (int(number) for number in given.split(","))
        os.set_blocking(self._status, False)

    def follow(self) -> None:
        """Stop this process when the supervisor has ended: as by SIGTERM, or at once if that takes too
        long."""
        threading.Thread(target=self._follow, name="lifeline", daemon=True).start()

    def _follow(self) -> None:
        os.read(self._lifeline, 1)  # nothing is ever written
        logger.error("the supervisor is gone: this server process stops")
        os.kill(os.getpid(), signal.SIGTERM)
        threading.Event().wait(STOP_S)
        os._exit(1)

    def ready(self) -> None:
        """Report that it serves."""
        self._report(READY)

    def beat(self) -> None:
        """Report that its event loop runs. Called about once a second."""
        self._report(BEAT)

    def _report(self, what: bytes) -> None:
        with contextlib.suppress(BlockingIOError, BrokenPipeError):
            os.write(self._status, what)
