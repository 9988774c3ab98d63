"""Many writers on one branch, in processes and in threads, with readers and mergers beside them."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from brain import Brain, BrainError

SHARED = "shared"
PROJECT = Path(__file__).parents[2]


class Written(NamedTuple):
    """What one writer did: versions of the shared skill, and its longest wait in seconds."""

    versions: list[int]
    longest: float


class Campaign(NamedTuple):
    """What came of many writers."""

    written: list[Written]
    looks: int
    faults: list[str]

    @property
    def longest(self) -> float:
        """The longest that any upsert took, in seconds."""
        return max(each.longest for each in self.written)


def write(folder: Path, name: str, times: int) -> Written:
    """Upsert the shared skill and one's own in turn; the shared one also against a base."""
    versions, longest = [], 0.0
    with Brain.open(folder, author=name) as brain:
        for number in range(times):
            begun = time.monotonic()
            if number % 2:
                brain.upsert_skill(f"own {name}", f"{number}\n", description="d")
            else:
                versions.append(_upsert_shared(brain, name, number))
            longest = max(longest, time.monotonic() - begun)
    return Written(versions, longest)


def _upsert_shared(brain: Brain, name: str, number: int) -> int:
    """Write one's own line of the shared skill, for the text as it was read before."""
    view = brain.view_skill(SHARED)
    lines = [line for line in view.body.splitlines() if line.strip()]
    changed = [f"{name}: {number}" if line.startswith(f"{name}:") else line for line in lines]
    done = brain.upsert_skill(SHARED, "\n\n".join(changed) + "\n", base=view.version)
    assert isinstance(done.version, int)
    return done.version


def begin(folder: Path, names: list[str]) -> None:
    """Make a brain whose shared skill has a line for each writer."""
    with Brain.init(folder) as brain:
        text = "\n\n".join(f"{name}: start" for name in names) + "\n"
        brain.upsert_skill(SHARED, text, description="d")


def run(folder: Path, processes: int, threads: int, times: int, merges: int = 0) -> Campaign:
    """Let processes, and threads with a brain each, write; then check what is there."""
    by_process = [f"p{number}" for number in range(processes)]
    by_thread = [f"t{number}" for number in range(threads)]
    begin(folder, by_process + by_thread)
    written: list[Written] = []
    faults: list[str] = []
    reader = _start("read", folder)
    running = [_start("write", folder, name, times) for name in by_process]

    def in_thread(name: str) -> None:
        try:
            written.append(write(folder, name, times))
        except BrainError as error:
            faults.append(f"{name}: {error.code} {error.message}")

    writers = [threading.Thread(target=in_thread, args=(name,)) for name in by_thread]
    writers.append(threading.Thread(target=_merge, args=(folder, merges, faults)))
    for thread in writers:
        thread.start()
    for process in running:
        out, _ = process.communicate()
        if process.returncode:
            faults.append(f"a process ended with {process.returncode}")
        else:
            written.append(Written(*json.loads(out)))
    for thread in writers:
        thread.join()
    looks, seen = json.loads(reader.communicate()[0])
    return Campaign(written, looks, [*faults, *seen, *_wrong(folder, written, times, merges)])


def _start(work: str, *arguments: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.lineage.writers", work, *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=PROJECT, stdin=pipe, stdout=pipe)


def _merge(folder: Path, merges: int, faults: list[str]) -> None:
    """Merge branches that were made beside the upserts, each with a record of its own."""
    if not merges:
        return
    with Brain.open(folder, author="merger") as brain:
        from brain.actions import turn
        from brain.objects import operation
        from brain.objects.entry import FILE, Entry
        from brain.session import head_ref

        session = brain._session
        for number in range(merges):
            name, content = f"side-{number}", b"%d\n" % number
            brain.create_branch(name)
            with turn.locked(session), turn.transaction(session) as tx:
                mine = turn.Turn(session, tx)
                before = mine.head = session.reader.ref(head_ref(name)) or b""
                mine.bundle = session.bundle_of(before)
                path = f"memory/{name}.txt"
                entry = Entry(path, FILE, tx.put_blob(content), len(content))
                mine.commit({path: entry}, operation.snapshot())
                tx.set_ref(head_ref(name), before, mine.head)
                refs = [(head_ref(name), before, mine.head)]
                turn.log_operation(session, tx, "snapshot", "beside", refs)
            if brain.merge(name).conflicts:
                faults.append(f"{name} has conflicts")


def read(folder: Path) -> tuple[int, list[str]]:
    """Look at the brain until standard input ends; return how often, and what was wrong."""
    over = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), over.set())).start()
    faults: list[str] = []
    looks = last = 0
    with Brain.open(folder) as brain:
        while not (looks and over.is_set()):
            looks += 1
            view = brain.view_skill(SHARED)
            assert isinstance(view.version, int)
            if view.version < last:
                faults.append(f"a reader saw version {view.version} after {last}")
            last = view.version
            infos = list(brain.log(limit=20))
            for newer, older in pairwise(infos):
                if newer.generation < older.generation:
                    faults.append("a reader saw a log out of order")
            head = brain.head
            listed = {skill.slug: skill.version for skill in brain.skills(head)}
            if listed[SHARED] != brain.view_skill(SHARED, head).version:
                faults.append("list and view of one snapshot differ")
            if SHARED not in str(brain.index()):
                faults.append("an index lacks a skill")
            brain.status()
    return looks, faults


def _wrong(folder: Path, written: list[Written], times: int, merges: int) -> Iterator[str]:
    acknowledged = Counter(version for each in written for version in each.versions)
    expected = Counter(range(2, 2 + len(written) * ((times + 1) // 2)))
    if acknowledged != expected:
        yield f"versions acknowledged amiss: {sorted((acknowledged - expected).elements())[:5]}"
    with Brain.open(folder) as brain:
        seen = sorted(int(row.version) for row in brain.skill_history(SHARED))
        if seen != list(range(1, len(expected) + 2)):
            yield "the history of the shared skill has gaps"
        last = times - 1 - (times - 1) % 2
        lines = brain.view_skill(SHARED).body.split()
        if lines[1::2] != [str(last)] * len(written):
            yield f"lines of the shared skill were lost: {lines[:20]}"
        own = [skill.version for skill in brain.skills() if skill.slug.startswith("own-")]
        if own != [times // 2] * (len(written) if times > 1 else 0):
            yield "versions of own skills are amiss"
        there = len(list((brain.root / "memory").glob("side-*.txt")))
        if there != merges:
            yield f"{there} of {merges} merges left their file"
        if not brain.status().clean:
            yield "the folder is not as the head"
        yield from (f"verify: {found.code}" for found in brain.verify(deep=True).findings)


def main(work: str, folder: str, *arguments: str) -> None:
    """Work as one process, and print what came of it."""
    done = read(Path(folder)) if work == "read" else _written(Path(folder), *arguments)
    sys.stdout.write(json.dumps(done))


def _written(folder: Path, name: str, times: str) -> Written:
    return write(folder, name, int(times))


if __name__ == "__main__":
    main(*sys.argv[1:])
