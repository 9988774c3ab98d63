"""Add a brain to the settings file of a client, and change nothing else in it."""

from __future__ import annotations

import json
import stat
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from brain.clients.client_row import ARGUMENTS, COMMAND, NAME, PROGRAM, McpSettings
from brain.errors import Conflict, InvalidInput, printable_text
from brain.skills.strict_yaml import load_yaml_file
from brain.util.files import write_atomic

from . import json_editor, toml_yaml_editor

MAX_CLIENT_SETTINGS_BYTES = 64 << 20
"""Maximum size of a settings file; that of Claude Code has histories too."""


class _SettingsFormat(NamedTuple):
    """How to read settings, and how to set an entry."""

    load: Callable[[str], dict[str, Any]]
    set_entry: Callable[[str, Sequence[str], str, dict[str, Any]], str]


_SETTINGS_FORMATS = {
    "json": _SettingsFormat(json_editor.load_json_object, json_editor.set_json_entry),
    "toml": _SettingsFormat(tomllib.loads, toml_yaml_editor.set_toml_entry),
    "yaml": _SettingsFormat(load_yaml_file, toml_yaml_editor.set_yaml_entry),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsChange:
    """A planned change of a settings file; `before` is None if the file does not exist.

    `existing` is what the file has under the name of the entry, None for nothing.
    """

    path: Path
    name: str
    entry: dict[str, Any]
    existing: object
    before: str | None
    after: str


def build_command(
    settings: McpSettings, root: Path, project: Path | None, options: Sequence[str]
) -> list[str]:
    """Return the command that starts the server of the brain in `root`.

    In a project that contains the brain, the command has no absolute path, so that others can
    use the file: `brain` is then found on the PATH.
    """
    inside = project is not None and root.resolve().is_relative_to(project.resolve())
    if inside and project is not None:
        below = root.resolve().relative_to(project.resolve()).as_posix()
        target = (
            f"{settings.project_variable}/{below}".removesuffix("/.")
            if settings.project_variable
            else below
        )
        command = ["brain", "-C", target]
    else:
        command = [*_program_command(), "-C", str(root.resolve())]
    return [*command, "mcp", *options]


def build_entry(settings: McpSettings, name: str, command: Sequence[str]) -> dict[str, Any]:
    """Return the entry with which a client starts a server by `command`."""
    words = {
        NAME: name,
        PROGRAM: command[0],
        ARGUMENTS: list(command[1:]),
        COMMAND: list(command),
    }

    def fill(form: object) -> Any:
        if isinstance(form, Mapping):
            return {key: fill(value) for key, value in form.items()}
        return words.get(form, form) if isinstance(form, str) else form

    return {key: fill(value) for key, value in settings.entry.items()}


def plan_change(
    settings: McpSettings, path: Path, name: str, entry: dict[str, Any]
) -> SettingsChange:
    """Read a settings file and return the change to make.

    An entry that the client itself wrote may have further, empty fields; it stays. Raises
    `InvalidInput` (`bad_settings`) for a file that cannot be read or changed safely.
    """
    before = _read_settings(path)
    text = (before or "").removeprefix("\ufeff")
    mark = "\ufeff" if before and before != text else ""
    settings_format = _SETTINGS_FORMATS[settings.file_format]
    try:
        after = mark + settings_format.set_entry(text, settings.servers, name, entry)
        existing: Any = settings_format.load(text)
        for key in (*settings.servers, name):
            existing = (existing or {}).get(key)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"{path} was not changed: {error}",
            code="bad_settings",
            hint="--print prints the entry, to paste it yourself",
        ) from error
    if before is not None and _is_same_entry(existing, entry):
        after = before
    return SettingsChange(
        path=path, name=name, entry=entry, existing=existing, before=before, after=after
    )


def has_entry(change: SettingsChange, settings: McpSettings) -> bool:
    """Tell whether the settings file has the entry by now. Raises `InvalidInput`."""
    now = plan_change(settings, change.path, change.name, change.entry)
    return now.existing is not None and now.before == now.after


def _is_same_entry(existing: object, entry: dict[str, Any]) -> bool:
    """Tell whether a client starts the same server by an entry that it wrote itself."""
    return (
        isinstance(existing, dict)
        and all(key in existing and existing[key] == value for key, value in entry.items())
        and not any(value for key, value in existing.items() if key not in entry)
    )


def refuse_other_entry(change: SettingsChange) -> None:
    """Raise `Conflict` (`entry_differs`) if the file has another entry of that name."""
    if change.existing is None or change.after == change.before:
        return
    raise Conflict(
        f"{change.path} has another '{change.name}': "
        f"{_describe_difference(change.existing, change.entry)}",
        code="entry_differs",
        hint="--force replaces it, --name adds this brain under another name",
    )


def _describe_difference(existing: object, entry: dict[str, Any]) -> str:
    """Describe what an entry would change; of other fields, which may be secret, the names."""
    if not isinstance(existing, dict):
        return "it is not a server"
    other = [
        f"{key} is {_printable_json(existing[key])}, not {_printable_json(value)}"
        if key in existing
        else f"it has no {key}"
        for key, value in entry.items()
        if key not in existing or existing[key] != value
    ]
    lost = [printable_text(key) for key in existing if key not in entry]
    return "; ".join([*other, *([f"{', '.join(lost)} would be lost"] if lost else [])])


def _printable_json(value: object) -> str:
    return printable_text(json.dumps(value, ensure_ascii=False, default=str))


def entry_snippet(settings: McpSettings, name: str, entry: dict[str, Any]) -> str:
    """Return the text of a file that has only this entry."""
    return _SETTINGS_FORMATS[settings.file_format].set_entry("", settings.servers, name, entry)


def write_change(change: SettingsChange) -> None:
    """Write what was planned, all or nothing.

    Raises `Conflict` (`settings_changed`) if the file changed meanwhile, and `OSError`.
    """
    target = change.path.resolve()  # keeps a link, such as one to a dotfiles folder
    target.parent.mkdir(parents=True, exist_ok=True)

    def refuse_changed_file() -> None:
        if _read_settings(target) != change.before:
            raise Conflict(
                f"{change.path} was changed by another program meanwhile",
                code="settings_changed",
                hint="try again",
            )

    mode = 0o600 if change.before is None else stat.S_IMODE(target.stat().st_mode)
    write_atomic(target, change.after.encode(), mode=mode, before_rename=refuse_changed_file)


def _read_settings(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_CLIENT_SETTINGS_BYTES + 1)
    except FileNotFoundError:
        return None
    if len(raw) > MAX_CLIENT_SETTINGS_BYTES:
        raise InvalidInput(
            f"{path} has more than {MAX_CLIENT_SETTINGS_BYTES} bytes",
            code="bad_settings",
            hint="--print prints the entry, to paste it yourself",
        )
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{path} is not UTF-8 text",
            code="bad_settings",
            hint="--print prints the entry, to paste it yourself",
        ) from error


def _program_command() -> list[str]:
    """Return the command that starts this program from any folder."""
    installed = Path(sys.executable).parent / ("brain.exe" if sys.platform == "win32" else "brain")
    return [str(installed)] if installed.is_file() else [sys.executable, "-P", "-m", "brain_cli"]
