"""Entering a brain in the settings of a client, with nothing else of the file changed."""

from __future__ import annotations

import json
import os
import stat
import sys
import tempfile
import tomllib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from brain.errors import Conflict, InvalidInput, printable
from brain.skills.strict_yaml import load_mapping

from . import jsonedit, tomledit, yamledit
from .places import PROJECT, Client

MAX_BYTES = 64 << 20
"""Size of a settings file; that of Claude Code holds histories, too."""


class _Form(NamedTuple):
    """How settings are read, and how an entry is put in."""

    load: Callable[[str], dict[str, Any]]
    with_entry: Callable[[str, str, str, dict[str, Any]], str]


_FORMS = {
    "json": _Form(jsonedit.load, jsonedit.with_entry),
    "toml": _Form(tomllib.loads, tomledit.with_entry),
    "yaml": _Form(load_mapping, yamledit.with_entry),
}


class Plan(NamedTuple):
    """What would be written where; `before` is None where there is no file.

    `there` is what the file has under the name of the entry, None for nothing.
    """

    path: Path
    name: str
    entry: dict[str, Any]
    there: object
    before: str | None
    after: str


def entry_of(client: Client, root: Path, project: Path | None, options: Sequence[str]) -> Any:
    """Return how a client starts the server of the brain in `root`.

    In a project that holds the brain nothing of this machine is named, so that others can
    use the file: `brain` is then found on the path.
    """
    inside = project is not None and root.resolve().is_relative_to(project.resolve())
    if inside and project is not None:
        below = root.resolve().relative_to(project.resolve()).as_posix()
        place = f"{client.root}/{below}".removesuffix("/.") if client.root else below
        command = ["brain", "-C", place]
    else:
        command = [*_program(), "-C", str(root.resolve())]
    entry: dict[str, Any] = {"type": "stdio"} if client.typed else {}
    return {**entry, "command": command[0], "args": [*command[1:], "mcp", *options]}


def plan(client: Client, path: Path, name: str, entry: dict[str, Any]) -> Plan:
    """Read a settings file and work out what becomes of it.

    Raises `InvalidInput` (`bad_settings`) for one that cannot be read or changed safely.
    """
    before = _read(path)
    text = (before or "").removeprefix("\ufeff")
    mark = "\ufeff" if before and before != text else ""
    form = _FORMS[client.form]
    try:
        after = mark + form.with_entry(text, client.key, name, entry)
        there = (form.load(text).get(client.key) or {}).get(name)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"{printable(path)} is left as it is: {printable(error)}",
            code="bad_settings",
            hint="--print shows what to enter by hand",
        ) from error
    return Plan(path, name, entry, there, before, after)


def refuse_another(wanted: Plan) -> None:
    """Raise `Conflict` (`entry_differs`) if the file has another entry of that name."""
    if wanted.there is None or wanted.there == wanted.entry:
        return
    raise Conflict(
        f"{printable(wanted.path)} has another '{wanted.name}': "
        f"{_difference(wanted.there, wanted.entry)}",
        code="entry_differs",
        hint="--force replaces it, --name enters this brain under another name",
    )


def _difference(there: object, entry: dict[str, Any]) -> str:
    """Tell what an entry would change; of what is not its own, which may be secret, the names."""
    if not isinstance(there, dict):
        return "it is not a server"
    other = [
        f"{key} is {_shown(there[key])}, not {_shown(value)}"
        if key in there
        else f"it has no {key}"
        for key, value in entry.items()
        if key not in there or there[key] != value
    ]
    more = [printable(key) for key in there if key not in entry]
    return "; ".join([*other, *([f"{', '.join(more)} would be lost"] if more else [])])


def _shown(value: object) -> str:
    return printable(json.dumps(value, ensure_ascii=False, default=str))


def snippet(client: Client, name: str, entry: dict[str, Any]) -> str:
    """Return the entry alone, as it stands in an otherwise empty file."""
    return _FORMS[client.form].with_entry("", client.key, name, entry)


def write(wanted: Plan) -> None:
    """Write what was planned, all or nothing.

    Raises `Conflict` (`settings_changed`) if the file changed meanwhile, and `OSError`.
    """
    place = wanted.path.resolve()  # a link, as of dotfiles kept elsewhere, stays one
    place.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(wanted.after)
            file.flush()
            os.fsync(handle)
        if wanted.before is not None:
            os.chmod(temporary, stat.S_IMODE(place.stat().st_mode))
        if _read(place) != wanted.before:
            raise Conflict(
                f"{printable(wanted.path)} was changed by somebody else meanwhile",
                code="settings_changed",
                hint="try again",
            )
        os.replace(temporary, place)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _read(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    if len(raw) > MAX_BYTES:
        raise InvalidInput(f"{printable(path)} is too large", code="bad_settings")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{printable(path)} is not text", code="bad_settings") from error


def _program() -> list[str]:
    """Return what starts this program wherever it is started."""
    beside = Path(sys.executable).parent / ("brain.exe" if sys.platform == "win32" else "brain")
    return [str(beside)] if beside.is_file() else [sys.executable, "-P", "-m", "brain_cli"]


def path_of(client: Client, scope: str, folder: Path) -> Path:
    """Return the settings file of a scope. Raises `InvalidInput` (`no_scope`)."""
    if scope != PROJECT:
        return client.user()
    if not client.project:
        raise InvalidInput(
            f"{client.title} has no settings of a project",
            code="no_scope",
            hint="leave --scope out",
        )
    return folder / client.project
