"""Solvers of a task, by one protocol: oracle, empty solution, command in the session, model."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ..errors import ModelError, SandboxError, printable_text
from ..models.calls import ANSWER_FAULTS, AskLimits, Bill
from ..sandbox.session import SandboxSession
from ..tasks.images import Place
from ..tasks.task import Task
from .task_session import put_places

if TYPE_CHECKING:
    from ..models import Model

SKILLS_FOLDER = "/root/.agents/skills"
"""Where a solver in a session finds the skills in front of it."""
MODEL_LIMITS = AskLimits(requests=50, tokens=1_000_000)
_ENDS = (*ANSWER_FAULTS, "model_limit")
"""Codes of failures of one attempt; any other is about the model as a whole."""
_SYSTEM_PROMPT = "Do the task that you are given. Answer with a short message when it is done."
_STEP_SECONDS, _STEP_BYTES = 120.0, 32 << 10
_MAX_OUTPUT_BYTES = 1 << 20
_UNREAD = "1"
"""Seconds of the time of access that a skill is given; whatever opens it changes that."""


class Skill(NamedTuple):
    """A skill in front of a solver: its slug, what it says of itself, and its files."""

    slug: str
    description: str
    files: dict[str, bytes]


class ToolUse(NamedTuple):
    """A call of a tool by a solver, with its input as JSON."""

    tool: str
    input: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What a solver did: its last message, and the calls it made if it lists them.

    `error` says why it ended early. `was_read` tells whether a skill was opened beyond what was
    put in front of the solver; None if that cannot be known. Tokens are those it says it paid.
    """

    output: bytes = b""
    error: str = ""
    tools: tuple[ToolUse, ...] | None = None
    was_read: bool | None = None
    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


class Solver(Protocol):
    """Works on a task in its session, which holds no test of it."""

    @property
    def name(self) -> str:
        """What it is, for a report."""
        ...

    def solve(self, task: Task, skills: Sequence[Skill], session: SandboxSession) -> Attempt:
        """Work on a task. Raises `SandboxError` if the session ends."""
        ...


class EmptySolver:
    """Does nothing: a task that it solves proves nothing."""

    name = "empty"

    def solve(self, task: Task, skills: Sequence[Skill], session: SandboxSession) -> Attempt:
        """Do nothing."""
        return Attempt()


class OracleSolver:
    """Runs the solution of the task itself."""

    name = "oracle"

    def solve(self, task: Task, skills: Sequence[Skill], session: SandboxSession) -> Attempt:
        """Run `solve.sh`, which takes the place of a solver."""
        places = [Place(f"/solution/{name}", file) for name, file in task.solution.items()]
        put_places(session, places)
        session.run("ln", "-sfn", "/solution", "/oracle")
        return _run(session, "bash /solution/solve.sh", task, task.solution_environment, b"")


class SessionCommand:
    """Runs a command of bash in the session: a script, a program of the skill."""

    def __init__(self, command: str) -> None:
        self.name = f"command {command.split(maxsplit=1)[0]}"
        self._command = command

    def solve(self, task: Task, skills: Sequence[Skill], session: SandboxSession) -> Attempt:
        """Run the command; the prompt is its standard input."""
        put_skills(session, skills)
        prompt = make_prompt(task, skills, SKILLS_FOLDER).encode()
        attempt = _run(session, self._command, task, {"SKILLS": SKILLS_FOLDER}, prompt)
        return _with_reading(attempt, skills, session)


class ModelSolver:
    """A model with bash, files and skills in the session."""

    def __init__(self, model: Model, limits: AskLimits = MODEL_LIMITS) -> None:
        self.name = model.model_name
        self._model = model
        self._limits = limits

    def solve(self, task: Task, skills: Sequence[Skill], session: SandboxSession) -> Attempt:
        """Let the model work. Raises `ModelError` if it fails as a whole, as if out of reach."""
        from ..models.ask import work
        from ..models.paid_once import PaidModel

        put_skills(session, skills)
        uses: list[ToolUse] = []
        bill = Bill()

        async def bash(command: str) -> str:
            """Run a command of bash, and return its status and what it printed."""
            uses.append(ToolUse("Bash", json.dumps({"command": command})))
            done = session.run(script=command, seconds=_STEP_SECONDS, max_bytes=_STEP_BYTES)
            late = f", ended after {_STEP_SECONDS:.0f} s" if done.is_late else ""
            return f"status {done.status}{late}\n{done.output.decode(errors='replace')}"

        def do(act: Callable[[], bytes | None]) -> str:
            try:
                return (act() or b"").decode(errors="replace")
            except SandboxError as fault:
                if fault.code == "session_ended":
                    raise
                return fault.message

        def read(path: str) -> str:
            return do(lambda: session.get(path, _STEP_BYTES))

        async def read_file(path: str) -> str:
            """Return the text of a file, or why it cannot be read."""
            uses.append(ToolUse("Read", json.dumps({"file_path": path})))
            return read(path)

        async def write_file(path: str, content: str) -> str:
            """Write a file, in place of what is there; folders above it are made."""
            uses.append(ToolUse("Write", json.dumps({"file_path": path, "content": content})))
            return do(lambda: session.put(path, content.encode("utf-8", "replace"))) or "written"

        async def load_skill(name: str) -> str:
            """Return the text of a skill by its name."""
            uses.append(ToolUse("Skill", json.dumps({"skill": name})))
            known = {skill.slug for skill in skills}
            return read(f"{SKILLS_FOLDER}/{name}/SKILL.md") if name in known else "no such skill"

        text, error = "", ""
        try:
            text = work(
                PaidModel(self._model, [bill.meter]),
                system=_SYSTEM_PROMPT,
                prompt=make_prompt(task, skills, SKILLS_FOLDER),
                tools=(bash, read_file, write_file, *([load_skill] if skills else [])),
                limits=replace(self._limits, seconds=task.limits.solver_seconds),
            )
        except ModelError as fault:
            if fault.code not in _ENDS:
                raise
            error = fault.message
        attempt = Attempt(
            output=text.encode("utf-8", "backslashreplace"),
            error=error,
            tools=tuple(uses),
            requests=bill.requests,
            tokens_in=bill.tokens_in,
            tokens_out=bill.tokens_out,
        )
        return _with_reading(attempt, skills, session)


def make_prompt(task: Task, skills: Sequence[Skill], folder: str) -> str:
    """Return the instruction of a task, with what is put in front of it: skills, and where."""
    if not skills:
        return task.instruction
    lines = [f"- {one.slug}: {one.description} ({folder}/{one.slug}/SKILL.md)" for one in skills]
    head = "These skills may help. Read the file of a skill before you use it.\n"
    return f"{head}{chr(10).join(lines)}\n\n{task.instruction}"


def put_skills(session: SandboxSession, skills: Sequence[Skill]) -> None:
    """Put the files of skills into a session, marked as not read."""
    for skill in skills:
        for name, data in skill.files.items():
            session.put(f"{SKILLS_FOLDER}/{skill.slug}/{name}", data, 0o755)
        mark = ("-type", "f", "-exec", "touch", "-a", "-d", f"@{_UNREAD}", "{}", "+")
        session.run("find", f"{SKILLS_FOLDER}/{skill.slug}", *mark)


def _with_reading(attempt: Attempt, skills: Sequence[Skill], session: SandboxSession) -> Attempt:
    if not skills:
        return attempt
    folders = (f"{SKILLS_FOLDER}/{skill.slug}" for skill in skills)  # an image may have others
    files = ("find", *folders, "-type", "f", "-printf", "%A@\n")
    times = session.run(*files).output.split()
    return replace(attempt, was_read=any(not time.startswith(b"1.") for time in times))


def _run(
    session: SandboxSession, command: str, task: Task, environment: Mapping[str, str], stdin: bytes
) -> Attempt:
    seconds = task.limits.solver_seconds
    done = session.run(
        script=command, env=environment, stdin=stdin, seconds=seconds, max_bytes=_MAX_OUTPUT_BYTES
    )
    error = ""
    if done.is_late:
        error = f"it took more than {seconds:.0f} s"
    elif done.status != 0:
        last = done.output.decode(errors="replace").strip().rpartition("\n")[2]
        error = f"status {done.status}: {printable_text(last)}"
    return Attempt(output=done.output, error=error)
