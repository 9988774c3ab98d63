"""The story of the demo: real calls of the command line, each with what it must show.

Everything happens in a copy of the example. The last step damages that copy on
purpose, and is as it should be when verification says so.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from brain.errors import BrainError

SLUG = "oracle-manipulation"

BODY = """
# Prices that an attacker can move

Use this when a contract reads a price, an exchange rate or a pool's reserves.

1. List every place where a price enters. Follow each one to its source.
2. Anything that mints, lends or liquidates on a spot price is a finding: a flash loan
   moves it within one transaction. Ask for a TWAP over thirty minutes or more.
3. For a feed, compare the limit on its age with the heartbeat of this very pair.
4. On a roll-up, read the sequencer's uptime feed too, with a grace period after a restart.
5. Try zero, a negative answer, a revert. Count decimals on both sides of each product.
"""
"""What the auditor learned: the body of version 2."""

MARK = b"grace period after a restart"
"""Words of `BODY` that are looked for in the store, to damage them there."""


class Told(NamedTuple):
    """A step: the call, what it printed, and whether that is what the step is about."""

    title: str
    command: str
    status: int
    output: str
    ok: bool


def example() -> Path:
    """Return the folder of the example: beside the package, or in the source tree.

    Raises `BrainError` (`no_example`) where it was not installed.
    """
    here = Path(__file__).resolve().parent
    for folder in (here / "_auditor", here.parent / "examples" / "auditor"):
        if folder.is_dir():
            return folder
    raise BrainError("the example of the demo is not installed", code="no_example")


def tell(workshop: Path) -> Iterator[Told]:
    """Tell the story in the empty folder `workshop`, one step at a time."""
    auditor = workshop / "auditor"
    shutil.copytree(example(), auditor, ignore=shutil.ignore_patterns("__pycache__"))
    (workshop / "lesson.md").write_text(BODY, "utf-8")

    yield _call(auditor, "A folder of plain files becomes a brain", "init", says="created in")
    first = _call(
        auditor,
        "Its state is recorded; the bundle hash stands for every byte of it",
        *("snapshot", "-m", "What the auditor knows"),
        says="Bundle",
    )
    yield first
    second = _call(
        auditor,
        "The agent learns: the same skill rises to version 2, and the hash moves",
        *("skill", "upsert", SLUG, "-f", "../lesson.md", "-m", "Roll-ups have a sequencer"),
        says=f"{SLUG} upgraded 1 → 2",
    )
    yield second._replace(ok=second.ok and _bundle(first) != _bundle(second))
    yield _call(
        auditor, "The difference, in words", "diff", "@~1", "@", says=f"{SLUG} upgraded 1 → 2"
    )
    yield _call(auditor, "The lineage", "log", says="Roll-ups have a sequencer")
    yield _call(
        auditor, "The Level-0 index: one line per skill, no bodies", "index", says=f"▸ {SLUG}: "
    )
    yield _call(auditor, "The system prompt that it feeds", "prompt", says=f"▸ {SLUG}: ")
    yield _call(auditor, "Everything hashes to what it claims", "verify", "--deep", says="Verified")
    yield _call(
        auditor,
        "The head is committed to a ledger: here the log of this machine, which needs no set-up",
        *("chain", "commit"),
        says="as commitment 1",
    )
    yield _call(
        auditor,
        "One file proves it: this skill is in the snapshot that was committed",
        *("chain", "evidence", "--path", f"skills/{SLUG}/SKILL.md", "-o", "../evidence.json"),
        says="Evidence in ../evidence.json",
    )
    shutil.copy(auditor / "skills" / SLUG / "SKILL.md", workshop / "SKILL.md")
    at = flip(auditor / ".brain", MARK)
    yield _call(
        auditor,
        f"One bit of byte {at:,} of .brain/store.db is flipped: found, and named",
        *("verify", "--deep"),
        says=SLUG,
        status=3,
    )
    yield _call(
        workshop,
        "The evidence holds all the same: it is checked offline, with no brain at hand",
        *("chain", "check", "evidence.json", "--content", "SKILL.md"),
        says=f"skills/{SLUG}/SKILL.md is in snapshot",
    )


def flip(control: Path, mark: bytes) -> int:
    """Flip the lowest bit of the first byte of `mark` in the store; return its offset.

    The write-ahead log is folded into the file first, as writers do from time to time.
    Raises `BrainError` (`not_in_store`) if the file does not hold `mark`.
    """
    from brain.store.database import NAME, open_writable

    store = open_writable(control)
    store.run("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()
    with (control / NAME).open("r+b") as file:
        at = file.read().find(mark)
        if at < 0:
            raise BrainError("the text to damage is not in the store", code="not_in_store")
        file.seek(at)
        file.write(bytes([mark[0] ^ 1]))
    return at


def _bundle(told: Told) -> str:
    found = re.findall(r"bundle +([0-9a-f]{12})", told.output, re.IGNORECASE)
    return found[-1] if found else ""


def _call(folder: Path, title: str, *arguments: str, says: str, status: int = 0) -> Told:
    """Run `brain` with `arguments` in `folder`; it must end with `status` and print `says`."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "brain_cli", *arguments],
        cwd=folder,
        env=_environment(folder.parent),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    words = [f'"{word}"' if " " in word else word for word in arguments]
    ok = done.returncode == status and says in done.stdout
    return Told(title, " ".join(["brain", *words]), done.returncode, done.stdout, ok)


def _environment(workshop: Path) -> dict[str, str]:
    """Return the environment without the user's settings of `brain`, for UTF-8 in pipes."""
    kept = {name: value for name, value in os.environ.items() if "BRAIN_" not in name}
    mine = {"BRAIN_AUTHOR": "auditor", "BRAIN_LEDGERS": str(workshop / "ledgers")}
    mine["BRAIN_ROOTS"] = str(workshop / "roots.json")
    return {**kept, **mine, "PYTHONIOENCODING": "utf-8"}
