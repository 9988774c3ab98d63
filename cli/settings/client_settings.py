"""Enter a brain in the settings of a client, and change nothing else in them.

The client's own command is run where it is installed and has one. Else JSON and TOML are edited,
and parsed again before they are written. What does not parse, such as JSON with comments, is left
as it is, and so is YAML: for these there is a snippet.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brain.clients.client_table import ARGUMENTS, COMMAND, NAME, PROGRAM, Client, McpSettings
from brain.errors import BrainError, Conflict, InvalidInput, printable_text
from brain.util.files import write_atomic

from .toml_lines import set_toml

MAX_CLIENT_SETTINGS_BYTES = 64 << 20
"""Maximum size of a settings file; that of Claude Code has histories too."""
COMMAND_SECONDS = 120
"""How long a client's command may take; some start a runtime and check for updates first."""


# Where the settings are


def settings_path(client: Client, settings: McpSettings, scope: str, folder: Path) -> Path:
    """Return the settings file of the user or, for "project", of the project in `folder`.

    Raises `InvalidInput` (`no_scope`).
    """
    if scope == "project":
        if not settings.project:
            raise InvalidInput(
                f"{client.title} has no project settings", code="no_scope", hint="remove --scope"
            )
        return folder / settings.project
    user = settings.user_on.get(sys.platform, settings.user)
    led = [path for path in user if path.startswith("$") and _expand(path) is not None]
    usual = [path for path in user if not path.startswith("$")]
    places = [place for path in led or usual if (place := _expand(path)) is not None]
    return next((place for place in places if place.exists()), places[0])


def _expand(path: str) -> Path | None:
    """Return a path of the table on this machine.

    None if its variable is not set, or it has a `*` for which there is no folder.
    """
    start, _, rest = path.partition("/")
    if start == "~":
        return Path.home() / rest
    if start == "{config}":
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Application Support" / rest
        if sys.platform == "win32":
            return _named_folder("APPDATA", "AppData/Roaming") / rest
        return _named_folder("XDG_CONFIG_HOME", ".config") / rest
    if start == "{local}":
        below, _, name = rest.rpartition("/")
        found = min(_named_folder("LOCALAPPDATA", "AppData/Local").glob(below), default=None)
        return found / name if found else None
    named = os.environ.get(start.removeprefix("$"))
    return Path(named) / rest if named else None


def _named_folder(variable: str, default: str) -> Path:
    named = os.environ.get(variable)
    return Path(named) if named else Path.home() / default


# What is entered


def server_command(
    settings: McpSettings, root: Path, project: Path | None, options: Sequence[str]
) -> list[str]:
    """Return the command that starts the server of the brain in `root`.

    In a project that contains the brain, the command has no absolute path, so that others can
    use the file: `brain` is then found on the PATH.
    """
    root = root.resolve()
    if project is not None and root.is_relative_to(project.resolve()):
        below = root.relative_to(project.resolve()).as_posix()
        variable = settings.project_variable
        target = f"{variable}/{below}".removesuffix("/.") if variable else below
        return ["brain", "-C", target, "mcp", *options]
    installed = Path(sys.executable).parent / ("brain.exe" if sys.platform == "win32" else "brain")
    program = [str(installed)] if installed.is_file() else [sys.executable, "-P", "-m", "brain_cli"]
    return [*program, "-C", str(root), "mcp", *options]


def fill_entry(form: Any, name: str, command: Sequence[str]) -> Any:
    """Return the entry with which a client starts a server by `command`."""
    if isinstance(form, Mapping):
        return {key: fill_entry(value, name, command) for key, value in form.items()}
    words: dict[str, Any] = {
        NAME: name,
        PROGRAM: command[0],
        ARGUMENTS: list(command[1:]),
        COMMAND: list(command),
    }
    if isinstance(form, str):
        return words.get(form, form)
    return list(form) if isinstance(form, tuple) else form


def entry_snippet(settings: McpSettings, name: str, entry: dict[str, Any]) -> str:
    """Return the text of a file that has only this entry."""
    keys = (*settings.servers, name)
    if settings.file_format == "toml":
        return set_toml("", keys, entry)
    if settings.file_format == "json":
        return json.dumps(_with_entry({}, keys, entry), indent=2, ensure_ascii=False) + "\n"
    heads = [f"{'  ' * depth}{key}:" for depth, key in enumerate(keys)]
    indent = "  " * len(keys)
    fields = (f"{indent}{k}: {json.dumps(v, ensure_ascii=False)}" for k, v in entry.items())
    return "\n".join([*heads, *fields, ""])


# How it is entered


@dataclass(slots=True)
class Plan:
    """What adding an entry does to a settings file.

    `before` is its content, None if it does not exist; `after` the one to write. `existing` is
    what the file has under the name, None for nothing. `problem` says why it cannot be edited.
    """

    path: Path
    name: str
    entry: dict[str, Any]
    before: bytes | None = None
    after: bytes | None = None
    existing: Any = None
    problem: str = ""

    @property
    def is_done(self) -> bool:
        """True if the file has the entry."""
        return not self.problem and self.before == self.after


def plan_entry(
    settings: McpSettings, path: Path, name: str, entry: dict[str, Any], project: Path | None = None
) -> Plan:
    """Read a settings file and return the change to make; it raises `OSError` alone.

    That of a project may be a stranger's: a link out of it is not followed.
    """
    plan = Plan(path, name, entry)
    try:
        if project and not Path(os.path.realpath(path)).is_relative_to(project.resolve()):
            raise ValueError("it is a link out of the project")
        plan.before = plan.after = _read_settings(path)
        data = plan.before or b""
        text = data.decode("utf-8-sig")
        found = _load(settings.file_format, text)
        plan.existing = _find_entry(found, (*settings.servers, name))
        if plan.before is None or not _is_same_entry(plan.existing, entry):
            mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
            plan.after = mark + _edit(settings, text, found, name, entry).encode()
    except UnicodeDecodeError:
        plan.problem = "it is not UTF-8 text"
    except (ValueError, RecursionError, BrainError) as error:
        plan.problem = str(error)
    return plan


def _find_entry(found: Any, keys: Sequence[str]) -> Any:
    for key in keys:
        found = {} if found is None else found
        if not isinstance(found, dict):
            raise ValueError(f"{'.'.join(keys[:-1])} has another form")
        found = found.get(key)
    return found


def _read_settings(path: Path) -> bytes | None:
    """Return the content. Raises `ValueError` for a file that is not to be replaced."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("it is not a regular file")
        if found.st_uid != os.geteuid():
            raise ValueError("it belongs to another user")
        with path.open("rb") as file:
            data = file.read(MAX_CLIENT_SETTINGS_BYTES + 1)
    except FileNotFoundError:
        return None
    if len(data) > MAX_CLIENT_SETTINGS_BYTES:
        raise ValueError(f"it has more than {MAX_CLIENT_SETTINGS_BYTES} bytes")
    return data


def _load(file_format: str, text: str) -> dict[str, Any]:
    if file_format == "toml":
        return tomllib.loads(text)
    if file_format == "yaml":
        from brain.skills.strict_yaml import load_yaml_file

        return load_yaml_file(text)
    found = json.loads(text) if text.strip() else {}
    if not isinstance(found, dict):
        raise ValueError("it is not an object")
    return found


def _is_same_entry(existing: Any, entry: dict[str, Any]) -> bool:
    """Tell whether a client starts the same server by an entry, which may have empty fields too."""
    return (
        isinstance(existing, dict)
        and all(key in existing and existing[key] == value for key, value in entry.items())
        and not any(value for key, value in existing.items() if key not in entry)
    )


def _edit(
    settings: McpSettings, text: str, found: dict[str, Any], name: str, entry: dict[str, Any]
) -> str:
    keys = (*settings.servers, name)
    if not text.strip():
        return entry_snippet(settings, name, entry)
    if settings.file_format == "yaml":
        raise ValueError("it is YAML, which is not edited here")
    wanted = _with_entry(found, keys, entry)
    if settings.file_format == "toml":
        existing = found.get(keys[0], {}).get(name) or {}
        made = set_toml(text, keys, {**dict.fromkeys(existing), **entry})
    else:
        made = set_json(text, keys, entry)
    if _load(settings.file_format, made) != wanted:
        raise ValueError(f"{'.'.join(keys)} has a form that cannot be edited safely")
    return made


def _with_entry(found: dict[str, Any], keys: Sequence[str], entry: Any) -> dict[str, Any]:
    key, *below = keys
    return {**found, key: _with_entry(found.get(key) or {}, below, entry) if below else entry}


_DECODER = json.JSONDecoder()
_BLANKS = re.compile(r"[ \t\r\n]*")
_INDENT = re.compile(r"\s*\{[ \t]*\r?\n([ \t]+)")


def set_json(text: str, keys: Sequence[str], value: Any) -> str:
    """Return the text of a JSON object with `value` at `keys`; missing objects are added."""
    indent = _INDENT.match(text)
    unit = indent[1] if indent else None if '"' in text else "  "
    line = "\r\n" if "\r\n" in text else "\n"
    start = stop = _skip(text, 0)
    for depth, key in enumerate(keys):
        if text[start] != "{":
            raise ValueError(f"{'.'.join(keys[:depth])} is not an object")
        members, close = _members(text, start)
        if key not in members:
            below = keys[depth + 1 :]
            new = _dump(_with_entry({}, below, value) if below else value, unit, line, depth + 1)
            made = f"{json.dumps(key, ensure_ascii=False)}: {new}"
            if members:
                gap = text[start + 1 : _skip(text, start + 1)] if unit else " "
                last = max(end for _, end in members.values())
                return f"{text[:last]},{gap}{made}{text[last:]}"
            around = [line + unit * (depth + 1), line + unit * depth] if unit else ["", ""]
            return f"{text[: start + 1]}{around[0]}{made}{around[1]}{text[close:]}"
        start, stop = members[key]
    return text[:start] + _dump(value, unit, line, len(keys)) + text[stop:]


def _dump(value: Any, unit: str | None, line: str, depth: int) -> str:
    made = json.dumps(value, indent=unit, ensure_ascii=False)
    return made.replace("\n", line + (unit or "") * depth)


def _members(text: str, at: int) -> tuple[dict[str, tuple[int, int]], int]:
    """Return where the value of each key of an object is, and where the object closes."""
    found: dict[str, tuple[int, int]] = {}
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        start = _skip(text, _skip(text, at) + 1)
        _, end = _DECODER.raw_decode(text, start)
        found[key] = (start, end)
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return found, at


def _skip(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return found.end() if found else at


def refuse_other_entry(plan: Plan) -> None:
    """Raise `Conflict` (`entry_differs`) if the file has another entry of that name."""
    if plan.existing is None or plan.is_done:
        return
    there, new = plan.existing if isinstance(plan.existing, dict) else {}, plan.entry
    other = [key for key in {**new, **there} if key not in there or there[key] != new.get(key)]
    raise Conflict(
        f"{plan.path} has another '{plan.name}', which differs in"
        f" {', '.join(map(printable_text, other))}",
        code="entry_differs",
        hint="--force replaces it, --name adds this brain under another name",
    )


def write_plan(plan: Plan) -> None:
    """Write what was planned, all or nothing; a link stays one.

    Raises `Conflict` (`settings_changed`) if the file changed meanwhile, and `OSError`.
    """
    target = Path(os.path.realpath(plan.path))
    target.parent.mkdir(parents=True, exist_ok=True)

    def refuse_changed_file() -> None:
        if (target.read_bytes() if target.exists() else None) != plan.before:
            raise Conflict(
                f"{plan.path} was changed by another program meanwhile",
                code="settings_changed",
                hint="try again",
            )

    mode = 0o600 if plan.before is None else stat.S_IMODE(target.stat().st_mode)
    write_atomic(target, plan.after or b"", mode=mode, before_rename=refuse_changed_file)


def add_command(
    settings: McpSettings, scope: str, plan: Plan, command: Sequence[str]
) -> list[str] | None:
    """Return the client's own command that adds the entry.

    None if it has none for the scope, is not installed, might replace another entry, or would
    follow a link or replace a file that `plan_entry` did not read.
    """
    if scope not in settings.scopes or plan.existing is not None:
        return None
    if plan.problem and (plan.before is None or json.dumps(plan.name).encode() in plan.before):
        return None
    program, *words = shlex.split(settings.add) or [""]
    found = shutil.which(program)
    if found is None:
        return None
    values = {
        "{scope}": scope,
        "{json}": json.dumps(plan.entry, ensure_ascii=False),
        "{named_json}": json.dumps({"name": plan.name, **plan.entry}, ensure_ascii=False),
    }
    filled = (values.get(word) or fill_entry(word, plan.name, command) for word in words)
    return [found, *(one for part in filled for one in ([part] if isinstance(part, str) else part))]


def run_command(command: Sequence[str], folder: Path, settings: McpSettings, plan: Plan) -> str:
    """Let the client add the entry; return "", or why its settings do not have it now."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=COMMAND_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"it took more than {COMMAND_SECONDS} seconds"
    except OSError as error:
        return error.strerror or "it cannot be started"
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
        return lines[-1] if lines else f"exit status {done.returncode}"
    now = plan_entry(settings, plan.path, plan.name, plan.entry)
    is_there = now.before != plan.before if now.problem else now.is_done
    return "" if is_there else f"it did not write {plan.path}"
