"""The command line, run in this process or as a process of its own."""

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest
from brain_cli import schemas
from brain_cli.command import BrainCommand
from brain_cli.context import App
from brain_cli.invocation import run_cli

from tests.support.brain_templates import copy_brain
from tests.support.processes import TIMEOUT_SECONDS


class Outcome(NamedTuple):
    """What one call of the command line did."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, Any]:
        """The fields of the error document on stderr."""
        fields: dict[str, Any] = json.loads(self.err)["error"]
        return fields


Call = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def keys(tmp_path, monkeypatch):
    """The folder of the user's keys; nothing here is that of whoever runs the tests."""
    monkeypatch.setenv("BRAIN_LEDGERS", str(tmp_path / "ledgers"))
    monkeypatch.setenv("BRAIN_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("BRAIN_ROOTS", str(tmp_path / "roots.json"))
    monkeypatch.setenv("BRAIN_KEYS", str(tmp_path / "keys"))
    return tmp_path / "keys"


@pytest.fixture
def cli(capsys, monkeypatch):
    """Run the command line in this process.

    A status that the help does not list is a fault, and JSON that does not keep its schema.
    """
    started: list[click.Context] = []
    parse = BrainCommand.parse_args

    def note_command(self: BrainCommand, context: click.Context, args: list[str]) -> list[str]:
        started.append(context)
        return parse(self, context, args)

    monkeypatch.setattr(BrainCommand, "parse_args", note_command)

    def call(*arguments: str) -> Outcome:
        started.clear()
        capsys.readouterr()
        status = run_cli(list(arguments))
        outcome = Outcome(status, *capsys.readouterr())
        for context in started:
            assert isinstance(context.command, BrainCommand)
            assert status in {*context.command.exits, 141}, (context.command_path, status)
            for line in outcome.out.splitlines() if context.find_object(App).as_json else ():
                validate(_command_words(context), json.loads(line))
        for line in outcome.err.splitlines():
            if line.startswith('{"error":'):
                validate("error", json.loads(line))
        return outcome

    return call


COMMAND = (sys.executable, "-P", "-m", "brain_cli")


@pytest.fixture
def process(tmp_path):
    """Run the command line as a process; keyword arguments are those of `subprocess.run`."""

    def call(*arguments: str | bytes, **options: Any) -> Outcome:
        return run_command(arguments, **{"cwd": tmp_path, **options})

    return call


def run_command(arguments: Sequence[str | bytes], **options: Any) -> Outcome:
    """Run the command line as a process; keyword arguments are those of `subprocess.run`."""
    if "input" not in options:
        options.setdefault("stdin", subprocess.DEVNULL)
    done = subprocess.run(
        [*COMMAND, *arguments], capture_output=True, timeout=TIMEOUT_SECONDS, check=False, **options
    )
    return Outcome(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode())


def environment(**changes: str) -> dict[str, str]:
    """Return the environment with changes; no pager waits for a key."""
    return {**os.environ, "BRAIN_PAGER": "", **changes}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder, which is the current one."""
    path = tmp_path / "agent"
    path.mkdir()
    monkeypatch.chdir(path)
    return path


@pytest.fixture
def agent(folder):
    """A brain with two skills, a memory and a prompt, recorded; it is the current folder."""
    return copy_brain(make_agent, folder)


def make_agent(folder: Path) -> None:
    """Make such a brain; each has an id of its own, and the copies of `agent` have the same."""
    (folder / "memory").mkdir(parents=True)
    (folder / "memory/notes.md").write_text("one\ntwo\n")
    (folder / "prompts").mkdir()
    (folder / "prompts/system.md").write_text("You are an auditor.\n")
    for slug, version in (("oracle-manipulation", 1), ("reentrancy", 3)):
        skill = folder / "skills" / slug / "SKILL.md"
        skill.parent.mkdir(parents=True)
        head = f"---\nname: {slug}\ndescription: About {slug}\nversion: {version}\n---\n"
        skill.write_text(f"{head}\n# {slug}\n\nBody of {slug}.\n")
    for arguments in (["init"], ["snapshot", "-m", "First"]):
        assert run_cli(["-C", str(folder), "--author", "ada", *arguments]) == 0


def _command_words(context: click.Context) -> str:
    """Return the words of a command, also where an alias was called."""
    above = context.parent
    words = _command_words(above) if above is not None and above.parent is not None else ""
    return f"{words} {context.command.name}".strip()


def validate(name: str, document: Any) -> None:
    """Check a document against the schema of a command or of a kind of file."""
    _schema_validator(name).validate(document)


@functools.cache
def _schema_validator(name: str) -> Any:
    import jsonschema_rs

    return jsonschema_rs.validator_for(schemas.load(name))
