"""A solver that is a command of this machine, such as `claude -p` or `codex exec`.

It runs outside the sandbox, in a folder and a home of its own that are removed afterwards, with
only the variables that the user passes on, such as a key. It sees a copy of the folder of the task
and the skills, and never a test. What it left is copied back into the session, where it is scored.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import tarfile
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import SandboxError
from ..sandbox.session import SandboxSession
from ..tasks.task import Task
from ..util import strict_json
from .solver import Attempt, Skill, ToolUse, make_prompt

_MAX_OUTPUT_BYTES = 16 << 20
_MAX_RECORDS = 20_000
_MAX_FOLDER_BYTES = 512 << 20
_SKILL_FOLDERS = (".claude/skills", ".agents/skills", ".codex/skills", ".gemini/skills")
"""Of a home, where programs look for skills; the first holds them, the others are links to it."""
_ENVIRONMENT = {"PATH": os.defpath, "LANG": "C.UTF-8", "TERM": "dumb"}
_UNREAD_SECONDS = 1


class HostCommand:
    """Runs a command of bash outside the sandbox; the prompt is its standard input."""

    def __init__(self, command: str, passed: Mapping[str, str]) -> None:
        """`passed` are variables of the environment that it gets, beside PATH and HOME."""
        self.name = f"command {command.split(maxsplit=1)[0]}"
        self._command = command
        self._environment = {**_ENVIRONMENT, **passed}

    def solve(self, task: Task, skills: Sequence[Skill], session: SandboxSession) -> Attempt:
        """Run it on a copy of the folder of the task, and copy back what it left."""
        inside = task.image.folder
        if inside == "/":
            raise SandboxError(
                "a solver outside the sandbox needs a folder, and that of the task is /",
                code="step_failed",
            )
        with tempfile.TemporaryDirectory(prefix="brain-solver-") as folder:
            home, work = Path(folder, "home"), Path(folder, "work")
            home.mkdir()
            work.mkdir()
            extract_folder(session.pack(inside, max_bytes=_MAX_FOLDER_BYTES), inside, work)
            placed = _put_skills(home, skills)
            prompt = make_prompt(task, skills, f"{home}/{_SKILL_FOLDERS[0]}")
            prompt += f"\n\nWhere this says {inside}, use the current folder, {work}.\n"
            attempt = self._run(task, prompt, str(home), work)
            attempt = replace(attempt, was_read=_were_read(placed, Path(folder)))
            session.run("find", inside, "-mindepth", "1", "-delete")
            session.unpack(_archive(work), inside)
            return attempt

    def _run(self, task: Task, prompt: str, home: str, work: Path) -> Attempt:
        seconds, error = task.limits.solver_seconds, ""
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as prompt_file:
            prompt_file.write(prompt.encode())
            prompt_file.seek(0)
            process = subprocess.Popen(
                ["bash", "-c", self._command],
                stdin=prompt_file,
                stdout=output,
                stderr=subprocess.DEVNULL,
                cwd=work,
                env={**self._environment, "HOME": home, "SKILLS": f"{home}/{_SKILL_FOLDERS[0]}"},
                start_new_session=True,
            )
            try:
                if status := process.wait(seconds):
                    error = f"it ended with status {status}"
            except subprocess.TimeoutExpired:
                error = f"it took more than {seconds:.0f} s"
            finally:
                with contextlib.suppress(ProcessLookupError):  # none of its processes is left
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            output.seek(0)
            return replace(read_output(output.read(_MAX_OUTPUT_BYTES)), error=error)


def read_output(data: bytes) -> Attempt:
    """Return what a program printed as an attempt.

    JSON of Claude Code (`--output-format json` or `stream-json`) and of Codex (`--json`) gives the
    last message, the calls of tools and the tokens; any other text is the message.
    """
    if not (records := _records(data)):
        return Attempt(output=data)
    message, tools, paid = "", list[ToolUse](), Counter[str]()
    for record in records:
        match record:
            case {"type": "item.completed", "item": {"type": "agent_message", "text": text}}:
                message = str(text)
            case {"type": "item.completed", "item": {"type": "command_execution", **item}}:
                tools.append(ToolUse("Bash", json.dumps({"command": item.get("command")})))
            case {"message": {"content": [*parts]}}:
                calls = [one for one in parts if isinstance(one, dict)]
                tools += [
                    ToolUse(str(one.get("name")), json.dumps(one.get("input")))
                    for one in calls
                    if one.get("type") == "tool_use"
                ]
            case {"result": str(text)}:
                message = text
        if record["type"] in ("result", "turn.completed"):
            paid["requests"] += _count(record, "num_turns") or 1
            usage = record.get("usage")
            for name in ("input_tokens", "output_tokens"):
                paid[name] += _count(usage, name) if isinstance(usage, dict) else 0
    return Attempt(
        output=message.encode("utf-8", "backslashreplace"),
        tools=tuple(tools),
        requests=paid["requests"],
        tokens_in=paid["input_tokens"],
        tokens_out=paid["output_tokens"],
    )


def _records(data: bytes) -> list[dict[str, Any]]:
    """Return the objects of JSON, one a line, that have a type; none if a line is no JSON."""
    found = []
    for line in filter(None, map(bytes.strip, data.splitlines()[:_MAX_RECORDS])):
        try:
            value = strict_json.parse_unbounded_json(line)
        except (ValueError, RecursionError):
            return []
        found += value if isinstance(value, list) else [value]
    return [one for one in found if isinstance(one, dict) and isinstance(one.get("type"), str)]


def _count(record: Mapping[str, Any], name: str) -> int:
    value = record.get(name)
    return value if isinstance(value, int) and 0 <= value < 1 << 53 else 0


def extract_folder(archive: bytes, inside: str, work: Path) -> None:
    """Unpack the folder of a session; what could lie outside `work`, and a device, is left out."""
    prefix = inside.strip("/")
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            name = member.name.strip("/")
            if not name.startswith(f"{prefix}/"):
                continue
            try:
                tar.extract(member.replace(name=name[len(prefix) + 1 :]), work, filter="data")
            except tarfile.FilterError:
                continue  # a link or a name that leads elsewhere


def _archive(work: Path) -> bytes:
    archive, total = io.BytesIO(), 0
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for path in sorted(work.rglob("*")):
            status = path.lstat()
            total += status.st_size
            if total > _MAX_FOLDER_BYTES:
                raise SandboxError("the solver left too much", code="session_full")
            if path.is_symlink() or path.is_dir() or path.is_file():
                tar.add(path, str(path.relative_to(work)), recursive=False)
    return archive.getvalue()


def _put_skills(home: Path, skills: Sequence[Skill]) -> list[Path]:
    first = home / _SKILL_FOLDERS[0]
    first.mkdir(parents=True)
    for name in _SKILL_FOLDERS[1:]:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).symlink_to(first)
    placed = []
    for skill in skills:
        for inner, data in skill.files.items():
            path = first / skill.slug / inner
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            placed.append(path)
    for path in placed:
        os.utime(path, (_UNREAD_SECONDS, path.stat().st_mtime))
    return placed


def _were_read(placed: Sequence[Path], folder: Path) -> bool | None:
    """Tell by their time of access whether files were opened; None if none is kept here."""
    if not placed:
        return None
    probe = folder / "probe"
    probe.write_bytes(b"1")
    os.utime(probe, (_UNREAD_SECONDS, probe.stat().st_mtime))
    probe.read_bytes()
    if probe.stat().st_atime == _UNREAD_SECONDS:
        return None
    return any(path.exists() and path.stat().st_atime != _UNREAD_SECONDS for path in placed)
