"""Processes that use one store of experience at the same time.

`python -m tests.support.experience_workers ACTION KIND PLACE PROCESSES` forks, lets all begin at
once, and prints a line for each thing that a process did. Each line is written at once, so a
killed process leaves whole lines only.
"""

import importlib
import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from brain.experience.experience_protocol import RateLimit, SkillSequence
from tests.support.processes import TIMEOUT_SECONDS

BRAIN_VARIABLE = "EXPERIENCE_WORKERS_BRAIN"
"""Names the brain in a shared database."""
KEY = "a key"
LIMITS = (
    RateLimit(name="daily", seconds=86_400, most=50),
    RateLimit(name="hourly", seconds=3600, most=35),
)
NOW = 1_700_000_000_000
LEASE = 60_000


def open_store(kind: str, place: str) -> Any:
    """Open the store at a place: a folder or a URL; it counts rates, and may store experience."""
    if kind == "file":
        from brain.experience.sqlite_experience import SqliteExperience

        return SqliteExperience(place)
    from brain.experience.sql_experience import SqlExperience

    return SqlExperience(place, os.environ.get(BRAIN_VARIABLE, "a brain"))


def import_store(kind: str) -> None:
    """Import what a store of this kind needs, without opening one."""
    shared = ["sql_experience", "postgres_connection"]
    for name in ["sqlite_experience"] if kind == "file" else shared:
        importlib.import_module(f"brain.experience.{name}")


def _say(*words: object) -> None:
    os.write(1, (" ".join(map(str, (os.getpid(), *words))) + "\n").encode())


def take(store: Any) -> None:
    """Count attempts until a limit is reached."""
    while not store.take(KEY, LIMITS, NOW):
        _say("counted")


def work(store: Any) -> None:
    """Do all the work there is."""
    while claimed := store.claim_work("gaps", NOW, LEASE, 3):
        _say("claimed", claimed.item.key)
        store.keep_progress(claimed, "half")
        store.finish_work(claimed, "done")


def claim_and_hang(store: Any) -> None:
    """Claim an item, keep what was paid for, and never finish."""
    claimed = store.claim_work("gaps", NOW, LEASE, 3)
    store.keep_progress(claimed, "an answer that was paid for")
    _say("holds", claimed.item.key)
    signal.pause()


def record(store: Any) -> None:
    """Record sequences one by one."""
    for number in range(20):
        chat = f"{os.getpid()}:{number}"
        store.record_sequences([SkillSequence(chat=chat, at=NOW, skills=("a", "b"))])
        _say("recorded", chat)


ACTIONS: dict[str, Callable[[Any], None]] = {
    "take": take,
    "work": work,
    "claim_and_hang": claim_and_hang,
    "record": record,
}


def main(action: str, kind: str, place: str, processes: str) -> int:
    """Fork, let all begin, and wait for them."""
    import_store(kind)  # once, and not in each process
    gate, release = os.pipe()
    children = []
    for _ in range(int(processes)):
        child = os.fork()
        if not child:
            os.close(release)
            os.read(gate, 1)  # returns when the parent closes the other end
            ACTIONS[action](open_store(kind, place))
            os._exit(0)
        children.append(child)
    _say("began", *children)
    os.close(gate)
    os.close(release)
    ends = [os.waitpid(child, 0)[1] for child in children]
    return 1 if any(end not in (0, signal.SIGKILL) for end in ends) else 0


class Workers:
    """Running processes: what they say, line by line, as words without the process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        assert process.stdout is not None
        self._output = process.stdout
        self.children = list(map(int, self._output.readline().split()[2:]))

    def read_line(self) -> list[str]:
        """Return the next line: the process, and what it did."""
        return self._output.readline().split()

    def read_rest(self) -> list[list[str]]:
        """Wait for the end; return the lines that were not read yet."""
        lines = [line.split() for line in self._output]
        assert self._process.wait(TIMEOUT_SECONDS) == 0
        return lines

    def kill(self, children: Sequence[int]) -> None:
        """Kill some of the processes at once."""
        for child in children:
            with suppress(ProcessLookupError):  # it had done its work
                os.kill(child, signal.SIGKILL)


@contextmanager
def run_workers(action: str, kind: str, place: str, processes: int) -> Iterator[Workers]:
    """Run processes that share a store."""
    words = [sys.executable, "-m", "tests.support.experience_workers", action, kind, place]
    with subprocess.Popen(
        [*words, str(processes)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        start_new_session=True,
    ) as process:
        workers = Workers(process)
        try:
            yield workers
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(*itertools.islice(sys.argv, 1, None)))
