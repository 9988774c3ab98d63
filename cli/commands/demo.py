"""The command `brain demo`: real command lines, each with the output it must print."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from brain.errors import BrainError
from brain.serve.tools.programs import has_sandbox

from .. import demo_agent, terminal
from ..command import BASIC_EXITS, brain_command
from ..context import App
from ..output import emit
from ..render.human_format import colorize
from ..terminal import escape_lines

DEMO_SLUG = "oracle-manipulation"

LESSON_BODY = """
# Prices that an attacker can move

Use this when a contract reads a price, an exchange rate or a pool's reserves.

1. List every place where a price enters. Follow each one to its source.
2. Anything that mints, lends or liquidates on a spot price is a finding: a flash loan
   moves it within one transaction. Ask for a TWAP over thirty minutes or more.
3. For a feed, compare the limit on its age with the heartbeat of this very pair.
4. On a roll-up, read the sequencer's uptime feed too, with a grace period after a restart.
5. Try zero, a negative answer, a revert. Count decimals on both sides of each product.
"""
"""The body of version 2 of the skill."""

DAMAGED_TEXT = b"grace period after a restart"
"""Words of `LESSON_BODY` whose bytes in the store are damaged."""


class DemoStep(NamedTuple):
    """A step: the command, its output, and whether the output is as expected."""

    title: str
    command: str
    status: int
    output: str
    ok: bool


def example_folder() -> Path:
    """Return the folder of the example: in the package, or in the source tree.

    Raises `BrainError` (`no_example`) where it was not installed.
    """
    here = Path(__file__).resolve().parent.parent
    for folder in (here / "_auditor", here.parent / "examples" / "auditor"):
        if folder.is_dir():
            return folder
    raise BrainError(
        "the example of the demo is not installed",
        code="no_example",
        hint="install the package again, with `pip install --force-reinstall agent-brain`",
    )


_FIRST_STEPS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("A folder of plain files becomes a brain", ("init",), "created in"),
    (
        "Its state is recorded; the bundle hash stands for every byte of it",
        ("snapshot", "-m", "What the auditor knows"),
        "Bundle",
    ),
    (
        "The agent learns: the skill gets version 2, and the hash changes",
        ("skill", "upsert", DEMO_SLUG, "-f", "../lesson.md", "-m", "Roll-ups have a sequencer"),
        f"{DEMO_SLUG} upgraded 1 → 2",
    ),
    ("The difference between both snapshots", ("diff", "@~1", "@"), f"{DEMO_SLUG} upgraded 1 → 2"),
    ("The lineage", ("log",), "Roll-ups have a sequencer"),
    ("The Level-0 index: one line per skill, no bodies", ("index",), f"▸ {DEMO_SLUG}: "),
    ("The system prompt with that index", ("prompt",), f"▸ {DEMO_SLUG}: "),
    ("Everything hashes to what it claims", ("verify", "--deep"), "Verified"),
    (
        "The head is committed to a ledger: here the log of this machine, which needs no set-up",
        ("chain", "commit"),
        "as commitment 1",
    ),
    (
        "Readers of the log have to know its key from elsewhere, as the key of a person",
        ("chain", "status"),
        "Key of the log: ",
    ),
    (
        "One file proves it: this skill is in the snapshot that was committed",
        ("chain", "evidence", "--path", f"skills/{DEMO_SLUG}/SKILL.md", "-o", "../evidence.json"),
        "Evidence in ../evidence.json",
    ),
)
"""Title, command and words of its output, of the steps before the store is damaged."""


def run_demo(workshop: Path) -> Iterator[DemoStep]:
    """Run the demo in the empty folder `workshop`, one step at a time."""
    auditor = workshop / "auditor"
    shutil.copytree(example_folder(), auditor, ignore=shutil.ignore_patterns("__pycache__"))
    (workshop / "lesson.md").write_text(LESSON_BODY, "utf-8")
    steps: list[DemoStep] = []
    for title, command, says in _FIRST_STEPS:
        step = _run_step(auditor, title, *command, says=says)
        if command[:2] == ("skill", "upsert"):
            step = step._replace(ok=step.ok and _printed_bundle(steps[-1]) != _printed_bundle(step))
        steps.append(step)
        yield step
    key = next(step.output for step in steps if "Key of the log: " in step.output)
    shutil.copy(auditor / "skills" / DEMO_SLUG / "SKILL.md", workshop / "SKILL.md")
    at = flip_bit(auditor / ".brain", DAMAGED_TEXT)
    yield _run_step(
        auditor,
        f"One bit of byte {at:,} of .brain/store.db is flipped: found, and named",
        *("verify", "--deep"),
        says=DEMO_SLUG,
        status=3,
    )
    yield _run_step(
        workshop,
        "The evidence is still valid: it is verified offline, without the brain",
        *("verify", "evidence.json", "--content", "SKILL.md"),
        *("--log-key", key.rpartition("Key of the log: ")[2].strip()),
        says=f"skills/{DEMO_SLUG}/SKILL.md is in snapshot",
    )
    if has_sandbox():
        yield from _run_tool_act(workshop / "tools")


def _run_tool_act(folder: Path) -> Iterator[DemoStep]:
    """Let an agent make itself a tool, in a new brain: it breaks, and is rolled back."""
    folder.mkdir()
    name, payload = demo_agent.NAME, '{"reserve": 990, "paid": 10}'
    slug, agent = name.replace("_", "-"), "brain_cli.demo_agent"
    for title, module, call, says in (
        ("A new brain, for an agent that makes tools", "", ("init",), "created in"),
        (
            "It makes a tool: refused without a true test, admitted with one, called by name",
            agent,
            ("make",),
            f"{name} is admitted as version 1",
        ),
        (
            "The same program runs for people, in its sandbox",
            "",
            ("skill", "run", slug, payload),
            '{"basis_points": 100}',
        ),
        (
            "It makes the tool worse, which no test showed: after three failures it is rolled back",
            agent,
            ("worse",),
            "version 1 did better, and is back as version 3",
        ),
        ("Every decision has its reason", "", ("why", slug), "failed with 3 of 3 inputs"),
        ("The verdicts are verified with the lineage", "", ("verify", "--deep"), "Verified"),
    ):
        yield _run_step(folder, title, *call, says=says, module=module)


def flip_bit(control: Path, mark: bytes) -> int:
    """Flip the lowest bit of the first byte of `mark` in the store; return its offset.

    The write-ahead log is folded into the file first, as writers do from time to time.
    Raises `BrainError` (`not_in_store`) if the file does not hold `mark`.
    """
    from brain.store.database import STORE_FILE_NAME, open_store_database

    store = open_store_database(control)
    store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()
    with (control / STORE_FILE_NAME).open("r+b") as file:
        at = file.read().find(mark)
        if at < 0:
            raise BrainError(
                "the demo finds no text in the store of its example that it could damage",
                code="not_in_store",
                hint="this is a fault of the demo: report it",
            )
        file.seek(at)
        file.write(bytes([mark[0] ^ 1]))
    return at


def _printed_bundle(step: DemoStep) -> str:
    found = re.findall(r"bundle +([0-9a-f]{12})", step.output, re.IGNORECASE)
    return found[-1] if found else ""


def _run_step(
    folder: Path, title: str, *arguments: str, says: str, status: int = 0, module: str = ""
) -> DemoStep:
    """Run `brain`, or another module, in `folder`; it must end with `status` and print `says`."""
    quotes = {word: "'" if '"' in word else '"' for word in arguments if " " in word}
    words = [f"{quotes.get(word, '')}{word}{quotes.get(word, '')}" for word in arguments]
    process = subprocess.run(
        [sys.executable, "-P", "-m", module or "brain_cli", *arguments],
        cwd=folder,
        env=_demo_environment(folder.parent),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    command = " ".join([f"python -m {module}" if module else "brain", *words])
    ok = process.returncode == status and says in process.stdout
    return DemoStep(title, command, process.returncode, process.stdout, ok)


def _demo_environment(workshop: Path) -> dict[str, str]:
    """Return the environment without the user's settings of `brain`, for UTF-8 in pipes."""
    return {
        **{name: value for name, value in os.environ.items() if "BRAIN_" not in name},
        "BRAIN_AUTHOR": "auditor",
        "BRAIN_LEDGERS": str(workshop / "ledgers"),
        "BRAIN_ROOTS": str(workshop / "roots.json"),
        "BRAIN_STATE_DIR": str(workshop / "state"),
        "PYTHONIOENCODING": "utf-8",
    }


MAX_SHOWN_LINES = 32
"""Lines of the output of a step that are printed."""


@brain_command("demo", examples=("brain demo",), exits=BASIC_EXITS)
def demo_command(app: App) -> None:
    """Run every main feature.

    Copies the brain of a smart-contract auditor to a temporary folder and runs real
    commands there. Status 0 means that every step did what its title says.
    """
    with tempfile.TemporaryDirectory(prefix="brain-demo-") as workshop:
        if app.as_json:
            steps = list(run_demo(Path(workshop)))
            emit(app, {"ok": all(step.ok for step in steps), "steps": steps}, ())
        else:
            steps = []
            for step in run_demo(Path(workshop)):
                steps.append(step)
                terminal.write_lines(_demo_step_lines(len(steps), step))
                terminal.flush_stdout()
    wrong = [step.title for step in steps if not step.ok]
    if wrong:
        raise BrainError(
            f"steps failed: {'; '.join(wrong)}",
            code="demo_failed",
            hint="the lines above show what each printed; BRAIN_DEBUG=1 adds tracebacks",
        )


def _demo_step_lines(number: int, step: DemoStep) -> Iterator[str]:
    yield colorize(f"{number}. {step.title}", "cyan")
    yield f"   $ {step.command}"
    lines = escape_lines(step.output.rstrip("\n")).split("\n")
    for line in lines[:MAX_SHOWN_LINES]:
        yield f"   {line}".rstrip()
    if len(lines) > MAX_SHOWN_LINES:
        yield f"   … ({len(lines) - MAX_SHOWN_LINES} more lines)"
    if step.status:
        yield f"   exit status {step.status}" + (", as expected" if step.ok else "")
    yield ""
