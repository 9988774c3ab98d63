"""Measures whole grinds: null edits promoted, what the gate is worth, and payments after kills.

    python -m tests.campaigns.grinds [--grinds 400] [--cycles 200] [--kills 10] [--seed 1]

1. Null edits: so many grinds with 8 to 24 held-out tasks, each of one edit after a failure. A
   scripted solver passes a task with a probability of its own, whatever its skills say. No more
   than 5 % of the edits may be promoted.
2. Learning: what a skill says decides about a task. Some lessons help their kind of task, others
   harm all. With the gate the share of held-out tasks that pass must rise and no brain may end
   worse; without it at least one must.
3. Kills: processes grind until so many cycles are done, and are killed (kill -9) at drawn moments.
   A solver and an evolver note each payment. None that was kept may be paid again, no tag may move,
   and the report must be that of a grind that nobody killed.

Ends with status 1 if any of this does not hold.
"""

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any

from brain import Brain
from brain.evolve.grind.library import Front
from brain.evolve.grind.solve import HoldoutRunner
from brain.experience.store import Item
from brain.repo.learning.change import ProposedChange
from brain.results import GateOutcome
from brain.tasks.task import Task
from tests.support.grinds import (
    Script,
    draw_tasks,
    grind,
    make_task,
    normalize,
    set_mode,
    skill_text,
    texts_of,
)

MAX_SHARE = 0.05
KINDS = ("a", "b", "c", "d")
_ROOMS = "/dev/shm" if Path("/dev/shm").is_dir() else None
_SKILL = "skills/work/SKILL.md"


def make_brain(folder: Path) -> Brain:
    """Return a new brain whose gate admits what helps, with one skill."""
    brain = Brain.init(folder, author="ada")
    set_mode(brain, "gated")
    brain.skills.upsert("work", "Work with care.\n", description="Use it for all work")
    return brain


# 1. Null edits


def grind_nothing(folder: Path, seed: str) -> tuple[int, int]:
    """Grind one edit that changes nothing, and return the tasks held out, and if it came in."""
    rng = Random(seed)
    number, noise = rng.randint(8, 24), rng.choice((0.0, 0.3, 1.0, 5.0))
    held_out = draw_tasks(number, held_out=True, name="h")
    ease = {
        task.name: rng.betavariate(noise, noise) if noise else float(rng.random() < 0.5)
        for task in held_out
    }
    (task,) = draw_tasks(1, held_out=False)

    def score(one: Task, front: Front) -> float:
        if one is task:  # or the branch goes back, and nothing is tried
            return float("wording" in texts_of(front))
        return float(rng.random() < ease[one.name])

    def change(number: int, files: dict[str, bytes]) -> None:
        files[_SKILL] = skill_text(f"Another wording {number}.", "work")

    with make_brain(folder) as brain:
        before = brain.gate.read_workspace()
        report = grind(
            brain,
            [task],
            Script(score, change),
            holdout=held_out,
            settings={"max_cycles": 2, "is_deterministic": noise == 0.0, "score_mode": "reward"},
        )
        gate = report["batches"][0]["gate"]
        assert gate is not None
        is_in = gate["done"] in ("admitted", "provisional")
        assert is_in == (brain.gate.read_workspace() != before)
        return number, int(is_in)


# 2. Learning


def grind_lessons(folder: Path, seed: str, *, is_gated: bool) -> tuple[float, float]:
    """Grind lessons, helpful and harmful ones; return the shares that pass before and after."""
    rng = Random(seed)
    tasks = draw_tasks(8, held_out=False)
    held_out = draw_tasks(16, held_out=True, name="h")
    kind = {task.name: KINDS[at % len(KINDS)] for at, task in enumerate((*tasks, *held_out))}
    easy = {task.name for task in held_out if rng.random() < 0.4}
    harmful = {one for one in range(1, 9) if rng.random() < 0.4}

    def passes(task: Task, text: str) -> bool:
        if "harm" in text and task.name in kind and task in held_out:
            return False
        return f"lesson {kind[task.name]}" in text or task.name in easy

    def score(task: Task, front: Front) -> float:
        return float(passes(task, texts_of(front)))

    def change(number: int, files: dict[str, bytes]) -> None:
        at = min(number - 1, len(tasks) - 1)
        says = f"harm {number}\n" * (number in harmful) + f"lesson {kind[tasks[at].name]}\n"
        files[_SKILL] = files[_SKILL] + says.encode()

    def admit(change: ProposedChange, runner: HoldoutRunner) -> GateOutcome:
        for edit in (change, *change.also):
            brain.files.write_all({_SKILL: edit.body}, message="Ungated")  # type: ignore[union-attr]
            break
        return GateOutcome("", "admitted", "nobody asked", "work", 1, None)

    def share() -> float:
        text = brain.gate.read_workspace()[_SKILL].decode()
        return sum(passes(task, text) for task in held_out) / len(held_out)

    with make_brain(folder) as brain:
        before = share()
        settings = {"max_cycles": 2, "is_deterministic": True}
        given: dict[str, Any] = {} if is_gated else {"propose": admit}
        script = Script(score, change)
        grind(brain, tasks, script, holdout=held_out, settings=settings, **given)
        return before, share()


# 3. Kills


class Payments(Script):
    """A scripted solver and evolver that note each payment in a file."""

    def __init__(self, file: Path) -> None:
        super().__init__(self._rate, self._learn)
        self._file = file

    def solve(self, key: str, task: Task, front: Front) -> dict[str, Any]:
        row = super().solve(key, task, front)
        self._note(key)
        return row

    def edit(self, number: int, prompt: str, files: Any) -> bytes:
        left = super().edit(number, prompt, files)
        self._note(f"evolve/{number}")
        return left

    def _note(self, key: str) -> None:
        with self._file.open("a") as file:
            file.write(f"{key}\n")

    @staticmethod
    def _rate(task: Task, front: Front) -> float:
        return float(f"lesson {task.name}." in texts_of(front))

    @staticmethod
    def _learn(number: int, files: dict[str, bytes]) -> None:
        seen = files["evolution/current_observation.md"].decode()
        name = seen.partition("## Task ")[2].partition(" ")[0]
        if ", cycle 2" in seen:  # the first try to learn it fails
            lessons = files[_SKILL].decode().splitlines()[-8:]
            files[_SKILL] = skill_text("\n".join([*lessons, f"lesson {name}."]), "work")
        else:
            files[_SKILL] = files[_SKILL] + f"{number}\n".encode()


def work(folder: Path, tasks: int) -> dict[str, Any]:
    """Grind, or go on where a process was killed; return the report. Three cycles for a task."""
    with Brain.open(folder / "brain") as brain:
        store = brain.gaps.open_store()
        with store.learning():
            item: Item | None = store.next("grind kills", 1)
            if item is None:
                store.add("grind kills", "1", 1, {})
                item = store.next("grind kills", 1)
            assert item is not None
            practice = [make_task(f"t{at}") for at in range(tasks)]
            held_out = draw_tasks(8, held_out=True, name="h")
            settings = {"batch_size": 1, "is_deterministic": True}
            script = Payments(folder / "paid")
            return grind(brain, practice, script, holdout=held_out, item=item, settings=settings)


def read_tags(folder: Path) -> dict[str, str]:
    """Return the tags of a brain, and where they point."""
    with Brain.open(folder / "brain") as brain:
        return {tag.name: tag.snapshot for tag in brain.tags.list()}


def find_kept(folder: Path, keys: Iterable[str]) -> set[str]:
    """Return those of the paid keys whose results a killed process has kept."""
    with Brain.open(folder / "brain") as brain:
        store = brain.gaps.open_store()
        with store.learning():
            item = store.next("grind kills", 1)
            if item is None:
                return set()
            kept = {key for key in keys if item.find(key) is not None}
            item.wait()
            return kept


def kill_grinds(folder: Path, cycles: int, kills: int, seed: int) -> dict[str, Any]:
    """Kill processes that grind, and return what was found. Three cycles for each task.

    `again` counts what was paid for again although it was kept, `lost` what a process had paid for
    and not kept when it was killed: no more than it does side by side.
    """
    rng, tasks = Random(f"{seed} kills"), max(2, cycles // 3)
    for name in ("whole", "killed"):
        make_brain(folder / name / "brain").close()
    whole = work(folder / "whole", tasks)
    killed, tags, done, moved = folder / "killed", dict[str, str](), 0, 0
    kept = Counter[str]()
    command = [sys.executable, "-m", "tests.campaigns.grinds", "--work", str(killed), str(tasks)]
    paid, all_paid = killed / "paid", len((folder / "whole/paid").read_text().split())
    # Not near the end: a process that comes to it before it is killed cannot be begun again.
    stops = sorted(rng.sample(range(1, max(all_paid * 2 // 3, kills + 2)), kills))
    for stop in stops:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        with contextlib.suppress(FileNotFoundError):
            while process.poll() is None:
                if paid.exists() and paid.read_bytes().count(b"\n") >= stop:
                    time.sleep(rng.random() * 0.02)
                    break
                time.sleep(0.001)
        done += process.poll() is None
        process.kill()
        process.wait()
        counts = Counter(paid.read_text().split())
        kept.update({key: counts[key] for key in find_kept(killed, counts.keys() - kept.keys())})
        now = read_tags(killed)
        moved += sum(now.get(name) != at for name, at in tags.items())
        tags = now
    report = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    counts = Counter(paid.read_text().split())
    whole = json.loads(json.dumps(whole))
    for one in (*report["batches"], *whole["batches"]):
        if one["gate"]:
            one["gate"] = one["gate"]["done"]
    with Brain.open(killed / "brain") as brain:
        is_whole = brain.verify().ok
    return {
        "cycles": sum(len(task["cycles"]) for task in report["tasks"]),
        "kills": done,
        "payments": counts.total(),
        "kept": len(kept),
        "again": sum(counts[key] - paid_then for key, paid_then in kept.items()),
        "lost": counts.total() - len(counts),
        "moved_tags": moved,
        "differs": [
            key
            for key in whole
            if key != "cost" and normalize(report)[key] != normalize(whole)[key]
        ],
        "is_whole": is_whole,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all three, and print what was found. Return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.grinds", description=__doc__)
    parser.add_argument("--grinds", type=int, default=400)
    parser.add_argument("--lessons", type=int, default=40)
    parser.add_argument("--cycles", type=int, default=200)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.work:
        folder, tasks = options.work
        sys.stdout.write(json.dumps(work(Path(folder), int(tasks))))
        return 0
    failed, seed = [], options.seed
    with tempfile.TemporaryDirectory(dir=_ROOMS) as name:
        room = Path(name)
        if options.grinds:
            found = [grind_nothing(room / f"n{at}", f"{seed} {at}") for at in range(options.grinds)]
            promoted = sum(is_in for _, is_in in found)
            say(f"null edits promoted: {promoted} of {len(found)}")
            if promoted > MAX_SHARE * len(found):
                failed.append("null edits")
        if options.lessons:
            for is_gated in (True, False):
                shares = [
                    grind_lessons(room / f"l{at}{is_gated}", f"{seed} {at}", is_gated=is_gated)
                    for at in range(options.lessons)
                ]
                before, after = (sum(side) / len(shares) for side in zip(*shares, strict=True))
                worse = sum(end < start for start, end in shares)
                word = "with" if is_gated else "without"
                say(
                    f"{word} the gate: {before:.3f} before, {after:.3f} after,"
                    f" {worse} of {len(shares)} worse"
                )
                if (worse or after <= before) if is_gated else not worse:
                    failed.append(f"learning {word} the gate")
        if options.kills:
            kills = kill_grinds(room / "kills", options.cycles, options.kills, seed)
            say(json.dumps(kills))
            if kills["again"] or kills["moved_tags"] or kills["differs"]:
                failed.append("kills")
            if not kills["is_whole"]:
                failed.append("verify")
    say(f"failed: {', '.join(failed)}" if failed else "nothing failed")
    return int(bool(failed))


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
