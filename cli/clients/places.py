"""Where clients keep the servers they know, and in what form."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

USER, PROJECT = "user", "project"


class Client(NamedTuple):
    """A client: the key its servers stand under, and its files of either scope, if it has one.

    `typed` says that an entry states its transport; `root` is what stands for the folder
    of the project in an entry of it ("" where commands are started there).
    """

    title: str
    form: str
    key: str
    typed: bool
    user: Callable[[], Path]
    project: str
    root: str


def _home(*parts: str) -> Path:
    return Path.home().joinpath(*parts)


def _below(variable: str, *default: str) -> Path:
    """Return the folder that a variable names, else one of the home folder."""
    named = os.environ.get(variable)
    return Path(named) if named else _home(*default)


def _claude() -> Path:
    named = os.environ.get("CLAUDE_CONFIG_DIR")
    return Path(named) / ".claude.json" if named else _home(".claude.json")


def _vscode() -> Path:
    if sys.platform == "darwin":
        folder = _home("Library", "Application Support")
    elif sys.platform == "win32":
        folder = _below("APPDATA", "AppData", "Roaming")
    else:
        folder = _below("XDG_CONFIG_HOME", ".config")
    return folder / "Code" / "User" / "mcp.json"


CLIENTS = {
    "claude": Client("Claude Code", "json", "mcpServers", True, _claude, ".mcp.json", ""),
    "codex": Client(
        "Codex",
        "toml",
        "mcp_servers",
        False,
        lambda: _below("CODEX_HOME", ".codex") / "config.toml",
        ".codex/config.toml",
        "",
    ),
    "cursor": Client(
        "Cursor",
        "json",
        "mcpServers",
        True,
        lambda: _home(".cursor", "mcp.json"),
        ".cursor/mcp.json",
        "${workspaceFolder}",
    ),
    "vscode": Client(
        "VS Code", "json", "servers", True, _vscode, ".vscode/mcp.json", "${workspaceFolder}"
    ),
    "hermes": Client(
        "Hermes",
        "yaml",
        "mcp_servers",
        False,
        lambda: _below("HERMES_HOME", ".hermes") / "config.yaml",
        "",
        "",
    ),
}
"""By the name that `brain mcp install` takes."""
