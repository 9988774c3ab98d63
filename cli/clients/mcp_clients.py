"""The supported MCP clients, and where their settings lie on this machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from brain.clients.client_row import McpSettings
from brain.clients.client_table import load_clients
from brain.errors import InvalidInput


def client_title(name: str) -> str:
    """Return the name of a client for people."""
    return load_clients()[name].title


def mcp_settings(name: str) -> McpSettings:
    """Return how a client has its MCP servers. Raises `KeyError`."""
    settings = load_clients()[name].mcp
    if settings is None:
        raise KeyError(name)
    return settings


def settings_path(name: str, scope: str, folder: Path) -> Path:
    """Return the settings file of a scope. Raises `InvalidInput` (`no_scope`)."""
    settings = mcp_settings(name)
    if scope == "user":
        return _user_path(settings)
    if not settings.project:
        raise InvalidInput(
            f"{client_title(name)} has no project settings",
            code="no_scope",
            hint="remove --scope",
        )
    return folder / settings.project


def _user_path(settings: McpSettings) -> Path:
    """Return the settings file of the user: an existing one, else the usual one."""
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
        return _config_folder() / rest
    if start == "{local}":
        return _find_local(rest)
    named = os.environ.get(start.removeprefix("$"))
    return Path(named) / rest if named else None


def _find_local(path: str) -> Path | None:
    """Return a file in the folder for what stays on this machine; `*` is a folder there."""
    folder, _, name = path.rpartition("/")
    named = os.environ.get("LOCALAPPDATA")
    local = Path(named) if named else Path.home() / "AppData" / "Local"
    found = min(local.glob(folder), default=None)
    return found / name if found else None


def _config_folder() -> Path:
    """Return the folder in which programs of this system keep their settings."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    variable, *default = (
        ("APPDATA", "AppData", "Roaming")
        if sys.platform == "win32"
        else ("XDG_CONFIG_HOME", ".config")
    )
    named = os.environ.get(variable)
    return Path(named) if named else Path.home().joinpath(*default)
