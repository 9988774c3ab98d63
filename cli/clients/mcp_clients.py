"""The supported MCP clients: their settings files and formats."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

USER_SCOPE, PROJECT_SCOPE = "user", "project"


class McpClient(NamedTuple):
    """A client: the key of its servers, and its settings files for user and project.

    With `states_transport` an entry has a `type`. `project_variable` is the variable for
    the project folder in an entry, "" if the client starts commands there.
    """

    title: str
    file_format: str
    servers_key: str
    states_transport: bool
    user_path: Callable[[], Path]
    project_path: str
    project_variable: str


def _home_path(*parts: str) -> Path:
    return Path.home().joinpath(*parts)


def _config_folder(variable: str, *default: str) -> Path:
    """Return the folder that a variable names, else a default in the home folder."""
    named = os.environ.get(variable)
    return Path(named) if named else _home_path(*default)


def _claude_path() -> Path:
    named = os.environ.get("CLAUDE_CONFIG_DIR")
    return Path(named) / ".claude.json" if named else _home_path(".claude.json")


def _vscode_path() -> Path:
    if sys.platform == "darwin":
        folder = _home_path("Library", "Application Support")
    elif sys.platform == "win32":
        folder = _config_folder("APPDATA", "AppData", "Roaming")
    else:
        folder = _config_folder("XDG_CONFIG_HOME", ".config")
    return folder / "Code" / "User" / "mcp.json"


MCP_CLIENTS = {
    "claude": McpClient("Claude Code", "json", "mcpServers", True, _claude_path, ".mcp.json", ""),
    "codex": McpClient(
        "Codex",
        "toml",
        "mcp_servers",
        False,
        lambda: _config_folder("CODEX_HOME", ".codex") / "config.toml",
        ".codex/config.toml",
        "",
    ),
    "cursor": McpClient(
        "Cursor",
        "json",
        "mcpServers",
        True,
        lambda: _home_path(".cursor", "mcp.json"),
        ".cursor/mcp.json",
        "${workspaceFolder}",
    ),
    "vscode": McpClient(
        "VS Code", "json", "servers", True, _vscode_path, ".vscode/mcp.json", "${workspaceFolder}"
    ),
    "hermes": McpClient(
        "Hermes",
        "yaml",
        "mcp_servers",
        False,
        lambda: _config_folder("HERMES_HOME", ".hermes") / "config.yaml",
        "",
        "",
    ),
}
"""By the name that `brain mcp install` takes."""
