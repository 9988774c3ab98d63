"""Simulated power cuts: `python -m tests.support.faults.power_cuts --seed 1 --images 1000`.

Everything SQLite writes is recorded, with its syncs. An image of the disk after a power
cut is then made at any point of the recording: what was synced is there, and of what was
not each sector may be there or not, in any mix. Each image has to be a brain with every
acknowledged operation, sound throughout, that goes on. Beside it lies the note `mark`,
which is never synced: as it was at some earlier time, cut short, or missing.
"""

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import apsw

from tests.support.faults.write_scenarios import SCENARIOS, TARGET_SKILL, open_brain

SECTOR_BYTES = 512
STORE_FILES = ("store.db", "store.db-wal", "store.db-journal")


class DiskEvent(NamedTuple):
    """Something that happened to a file; `kind` is write, truncate, sync, delete, or ack.

    For ack, `at` is the number of operations acknowledged, and `data` the note `mark`.
    """

    kind: str
    name: str
    at: int = 0
    data: bytes = b""


DISK_EVENTS: list[DiskEvent] = []


class _File(apsw.VFSFile):
    def __init__(self, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        path = name.filename() if isinstance(name, apsw.URIFilename) else name or ""
        self._name = Path(path).name
        super().__init__("unix", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        super().xWrite(data, offset)
        DISK_EVENTS.append(DiskEvent("write", self._name, offset, bytes(data)))

    def xTruncate(self, size: int) -> None:
        super().xTruncate(size)
        DISK_EVENTS.append(DiskEvent("truncate", self._name, size))

    def xSync(self, flags: int) -> None:
        super().xSync(flags)
        DISK_EVENTS.append(DiskEvent("sync", self._name))


class _Recorder(apsw.VFS):
    """The file system that SQLite uses from now on in this process."""

    def __init__(self) -> None:
        super().__init__("recorder", "unix", makedefault=True)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> _File:
        return _File(name, flags)

    def xDelete(self, name: str, sync: bool) -> None:
        super().xDelete(name, sync)
        DISK_EVENTS.append(DiskEvent("delete", Path(name).name, int(sync)))


class Recording(NamedTuple):
    """The files of the store at the start, and what happened to them."""

    start: dict[str, bytes]
    log: list[DiskEvent]


def record_work(folder: Path, work: Callable[[Path], Iterator[None]]) -> Recording:
    """Record `work`, which yields after each command it was told is done."""
    start = _read_store_files(folder)
    DISK_EVENTS.clear()
    DISK_EVENTS.append(_acknowledgement(folder))
    for _ in work(folder):
        DISK_EVENTS.append(_acknowledgement(folder))
    return Recording(start, [event for event in DISK_EVENTS if event.name in ("", *STORE_FILES)])


def _read_store_files(folder: Path) -> dict[str, bytes]:
    found = ((name, folder / ".brain" / name) for name in STORE_FILES)
    return {name: path.read_bytes() for name, path in found if path.exists()}


def _acknowledgement(folder: Path) -> DiskEvent:
    mark = (folder / ".brain" / "mark").read_bytes()
    return DiskEvent("ack", "", int.from_bytes(mark[:8], "big"), mark)


def run_upserts(folder: Path) -> Iterator[None]:
    """Commands in one process and in several, across a few checkpoints."""
    for number in range(12):
        with open_brain(folder) as brain:
            for name in (TARGET_SKILL, f"Number {number}", f"Other {number % 3}"):
                brain.skills.upsert(name, f"{number}\n" * 100, description="d")
                yield
            if number % 4 == 3:
                brain.skills.delete(f"Number {number}")
                yield
                brain.undo()
                yield


def run_first_load(folder: Path) -> Iterator[None]:
    """The load that leaves the log for a rollback journal, then an upsert."""
    SCENARIOS["first-load"].run(folder)
    yield
    SCENARIOS["upsert"].run(folder)
    yield


WORKLOADS = {"upserts": run_upserts, "first-load": run_first_load}


def disk_image(recording: Recording, cut: int, chance: random.Random) -> dict[str, bytes]:
    """Return the files of the store after a power cut before event `cut`."""
    disk = {name: bytearray(content) for name, content in recording.start.items()}
    waiting: dict[str, list[DiskEvent]] = {}
    ghosts: dict[str, bytearray] = {}
    for event in recording.log[:cut]:
        if event.kind in ("write", "truncate"):
            waiting.setdefault(event.name, []).append(event)
        elif event.kind == "sync":
            file = disk.setdefault(event.name, bytearray())
            for each in waiting.pop(event.name, []):
                _apply_event(file, each)
            ghosts.clear()
        elif event.kind == "delete":
            gone = disk.pop(event.name, None)
            waiting.pop(event.name, None)
            ghosts = {event.name: gone} if gone is not None and not event.at else {}
    for name, events in waiting.items():
        if name in disk or chance.random() < 0.5:
            file = disk.setdefault(name, bytearray())
            for each in events:
                for part in _surviving_writes(each, chance):
                    _apply_event(file, part)
    for name, content in ghosts.items():
        if chance.random() < 0.5:
            disk.setdefault(name, content)
    return {name: bytes(content) for name, content in disk.items()}


def _surviving_writes(event: DiskEvent, chance: random.Random) -> Iterator[DiskEvent]:
    """Yield what reached the disk of one write: all, nothing, or some of its sectors."""
    fate = chance.random()
    if fate < 0.35:
        return
    if fate < 0.6 or event.kind != "write":
        yield event
        return
    for start in range(0, len(event.data), SECTOR_BYTES):
        if chance.random() < 0.5:
            part = event.data[start : start + SECTOR_BYTES]
            yield event._replace(at=event.at + start, data=part)


def _apply_event(file: bytearray, event: DiskEvent) -> None:
    if event.kind == "truncate":
        del file[event.at :]
        file.extend(bytes(event.at - len(file)))
        return
    end = event.at + len(event.data)
    file.extend(bytes(max(0, end - len(file))))
    file[event.at : end] = event.data


def cut_power(folder: Path, recording: Recording, cut: int, chance: random.Random) -> str:
    """Make an image in `folder`, which holds the work tree; say what is wrong with it."""
    control = folder / ".brain"
    shutil.rmtree(control, ignore_errors=True)
    control.mkdir(mode=0o700)
    for name, content in disk_image(recording, cut, chance).items():
        (control / name).write_bytes(content)
    acks = [event for event in recording.log[:cut] if event.kind == "ack"]
    note = chance.choice(acks).data if chance.random() < 0.5 else acks[-1].data
    if chance.random() < 0.9:
        (control / "mark").write_bytes(note[: chance.choice((0, 20, 48, 48, 48))])
    shutil.rmtree(folder / "skills" / "after-the-cut", ignore_errors=True)
    try:
        return _find_fault(folder, acks[-1].at)
    except Exception as error:  # noqa: BLE001  whatever goes wrong is what is looked for
        return f"{type(error).__name__}: {error}"


def _find_fault(folder: Path, acknowledged: int) -> str:
    with open_brain(folder) as brain:
        there = len(brain.history.list_operations())
        if there < acknowledged:
            return f"{acknowledged} operations were acknowledged, {there} are there"
        if not (found := brain.verify(deep=True)).ok:
            return f"verification finds {found.findings[0]}"
        done = brain.skills.upsert("After the cut", "Go on.\n", description="d")
        if done.version != 1 or len(brain.history.list_operations()) != there + 1:
            return "it does not go on"
    return ""


def run_power_cuts(work: Path, name: str, images: int, seed: int) -> list[str]:
    """Cut the power `images` times during the work called `name`; return what went wrong."""
    folder = work / name
    folder.mkdir()
    SCENARIOS["upsert" if name == "upserts" else name].prepare(folder)
    recording = record_work(folder, WORKLOADS[name])
    chance = random.Random(f"{seed} {name}")
    wrong = []
    for number in range(images):
        cut = chance.randrange(1, len(recording.log) + 1)
        if found := cut_power(folder, recording, cut, random.Random(f"{seed} {number}")):
            wrong.append(f"{name}, seed {seed}, image {number}, event {cut}: {found}")
    return wrong


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print, and return 1 if anything went wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.support.faults.power_cuts", description=__doc__
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--images", type=int, default=1000, help="of each kind of work")
    parser.add_argument("--work", help="folder to work in; one in memory saves time")
    options = parser.parse_args(arguments)
    recorder = _Recorder()
    failed = 0
    with tempfile.TemporaryDirectory(dir=options.work) as place:
        for name in WORKLOADS:
            begun = time.monotonic()
            wrong = run_power_cuts(Path(place), name, options.images, options.seed)
            failed += len(wrong)
            seconds = time.monotonic() - begun
            summary = f"{name}: {options.images} images, {len(wrong)} wrong, {seconds:.0f} s"
            sys.stdout.write("\n".join([*wrong[:20], summary, ""]))
    recorder.unregister()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
