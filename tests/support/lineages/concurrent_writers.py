"""Many writers on one branch, in processes and threads, with concurrent readers and mergers."""

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

SHARED_SKILL = "shared"
PROJECT = Path(__file__).parents[3]


class WriterReport(NamedTuple):
    """What one writer did: versions of the shared skill, and its longest wait in seconds."""

    versions: list[int]
    longest_wait: float


class WritersReport(NamedTuple):
    """What came of many writers."""

    written: list[WriterReport]
    looks: int
    faults: list[str]

    @property
    def longest(self) -> float:
        """The longest that any upsert took, in seconds."""
        return max(each.longest_wait for each in self.written)


def run_writer(folder: Path, name: str, times: int) -> WriterReport:
    """Upsert the shared skill and one's own in turn; the shared one also against a base."""
    versions, longest = [], 0.0
    with Brain.open(folder, author=name) as brain:
        for number in range(times):
            begun = time.monotonic()
            if number % 2:
                brain.skills.upsert(f"own {name}", f"{number}\n", description="d")
            else:
                versions.append(_upsert_shared(brain, name, number))
            longest = max(longest, time.monotonic() - begun)
    return WriterReport(versions, longest)


def _upsert_shared(brain: Brain, name: str, number: int) -> int:
    """Write one's own line of the shared skill, for the text as it was read before."""
    view = brain.skills.view(SHARED_SKILL)
    lines = [line for line in view.body.splitlines() if line.strip()]
    changed = [f"{name}: {number}" if line.startswith(f"{name}:") else line for line in lines]
    done = brain.skills.upsert(SHARED_SKILL, "\n\n".join(changed) + "\n", base=view.version)
    assert isinstance(done.version, int)
    return done.version


def make_shared_brain(folder: Path, names: list[str]) -> None:
    """Make a brain whose shared skill has a line for each writer."""
    with Brain.init(folder) as brain:
        text = "\n\n".join(f"{name}: start" for name in names) + "\n"
        brain.skills.upsert(SHARED_SKILL, text, description="d")


def run_writers(
    folder: Path, processes: int, threads: int, times: int, merges: int = 0
) -> WritersReport:
    """Let processes, and threads with a brain each, write; then check what is there."""
    by_process = [f"p{number}" for number in range(processes)]
    by_thread = [f"t{number}" for number in range(threads)]
    make_shared_brain(folder, by_process + by_thread)
    written: list[WriterReport] = []
    faults: list[str] = []
    reader = _start_process("read", folder)
    running = [_start_process("write", folder, name, times) for name in by_process]

    def in_thread(name: str) -> None:
        try:
            written.append(run_writer(folder, name, times))
        except BrainError as error:
            faults.append(f"{name}: {error.code} {error.message}")

    writers = [threading.Thread(target=in_thread, args=(name,)) for name in by_thread]
    writers.append(threading.Thread(target=_run_merges, args=(folder, merges, faults)))
    for thread in writers:
        thread.start()
    for process in running:
        out, _ = process.communicate()
        if process.returncode:
            faults.append(f"a process ended with {process.returncode}")
        else:
            written.append(WriterReport(*json.loads(out)))
    for thread in writers:
        thread.join()
    looks, seen = json.loads(reader.communicate()[0])
    return WritersReport(
        written, looks, [*faults, *seen, *_find_faults(folder, written, times, merges)]
    )


def _start_process(work: str, *arguments: object) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-m",
        "tests.support.lineages.concurrent_writers",
        work,
        *map(str, arguments),
    ]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=PROJECT, stdin=pipe, stdout=pipe)


def _run_merges(folder: Path, merges: int, faults: list[str]) -> None:
    """Merge branches that were made during the upserts, each with a record of its own."""
    if not merges:
        return
    with Brain.open(folder, author="merger") as brain:
        from brain.objects.tree_node import FILE, TreeEntry
        from brain.repo import transaction
        from brain.repo.session import head_ref

        session = brain._session
        for number in range(merges):
            name, content = f"side-{number}", b"%d\n" % number
            brain.branches.create(name)
            with (
                transaction.lock_for_writing(session),
                transaction.store_transaction(session) as tx,
            ):
                txn = transaction.WriteTransaction(session, tx)
                before = txn.head = session.reader.read_ref(head_ref(name)) or b""
                txn.state = session.state_of(before)
                path = f"memory/{name}.txt"
                entry = TreeEntry(path, FILE, tx.put_blob(content), len(content))
                txn.record_snapshot({path: entry}, ("snapshot",))
                tx.update_ref(head_ref(name), before, txn.head)
                refs = [(head_ref(name), before, txn.head)]
                transaction.log_operation(session, tx, "snapshot", "meanwhile", refs)
            if brain.merge.start(name).conflicts:
                faults.append(f"{name} has conflicts")


def run_reader(folder: Path) -> tuple[int, list[str]]:
    """Look at the brain until standard input ends; return how often, and what was wrong."""
    over = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), over.set())).start()
    faults: list[str] = []
    looks = last = 0
    with Brain.open(folder) as brain:
        while not (looks and over.is_set()):
            looks += 1
            view = brain.skills.view(SHARED_SKILL)
            assert isinstance(view.version, int)
            if view.version < last:
                faults.append(f"a reader saw version {view.version} after {last}")
            last = view.version
            infos = list(brain.history.log(limit=20))
            for newer, older in pairwise(infos):
                if newer.generation < older.generation:
                    faults.append("a reader saw a log out of order")
            head = brain.head
            listed = {skill.slug: skill.version for skill in brain.skills.list(head)}
            if listed[SHARED_SKILL] != brain.skills.view(SHARED_SKILL, head).version:
                faults.append("list and view of one snapshot differ")
            if SHARED_SKILL not in str(brain.prompt.build_index()):
                faults.append("an index lacks a skill")
            brain.status()
    return looks, faults


def _find_faults(
    folder: Path, written: list[WriterReport], times: int, merges: int
) -> Iterator[str]:
    acknowledged = Counter(version for each in written for version in each.versions)
    expected = Counter(range(2, 2 + len(written) * ((times + 1) // 2)))
    if acknowledged != expected:
        yield f"versions acknowledged amiss: {sorted((acknowledged - expected).elements())[:5]}"
    with Brain.open(folder) as brain:
        seen = sorted(int(row.version) for row in brain.skills.history(SHARED_SKILL))
        if seen != list(range(1, len(expected) + 2)):
            yield "the history of the shared skill has gaps"
        last = times - 1 - (times - 1) % 2
        lines = brain.skills.view(SHARED_SKILL).body.split()
        if lines[1::2] != [str(last)] * len(written):
            yield f"lines of the shared skill were lost: {lines[:20]}"
        own = [skill.version for skill in brain.skills.list() if skill.slug.startswith("own-")]
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
    done = (
        run_reader(Path(folder))
        if work == "read"
        else _run_writer_process(Path(folder), *arguments)
    )
    sys.stdout.write(json.dumps(done))


def _run_writer_process(folder: Path, name: str, times: str) -> WriterReport:
    return run_writer(folder, name, int(times))


if __name__ == "__main__":
    main(*sys.argv[1:])
