"""The supported MCP clients: their settings files and formats."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

USER_SCOPE, PROJECT_SCOPE = "user", "project"


@dataclass(frozen=True, slots=True, kw_only=True)
class McpClient:
    """An MCP client and its settings files.

    `servers_key` is the key that holds the servers. With `states_transport` an entry names
    its transport. `project_path` is the settings file of a project, "" if the client has
    none; `project_variable` stands for the project folder in it, "" if the client starts
    commands there.
    """

    title: str
    file_format: str
    servers_key: str
    states_transport: bool
    user_path: Callable[[], Path]
    project_path: str = ""
    project_variable: str = ""


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
    "claude": McpClient(
        title="Claude Code",
        file_format="json",
        servers_key="mcpServers",
        states_transport=True,
        user_path=_claude_path,
        project_path=".mcp.json",
    ),
    "codex": McpClient(
        title="Codex",
        file_format="toml",
        servers_key="mcp_servers",
        states_transport=False,
        user_path=lambda: _config_folder("CODEX_HOME", ".codex") / "config.toml",
        project_path=".codex/config.toml",
    ),
    "cursor": McpClient(
        title="Cursor",
        file_format="json",
        servers_key="mcpServers",
        states_transport=True,
        user_path=lambda: _home_path(".cursor", "mcp.json"),
        project_path=".cursor/mcp.json",
        project_variable="${workspaceFolder}",
    ),
    "vscode": McpClient(
        title="VS Code",
        file_format="json",
        servers_key="servers",
        states_transport=True,
        user_path=_vscode_path,
        project_path=".vscode/mcp.json",
        project_variable="${workspaceFolder}",
    ),
    "hermes": McpClient(
        title="Hermes",
        file_format="yaml",
        servers_key="mcp_servers",
        states_transport=False,
        user_path=lambda: _config_folder("HERMES_HOME", ".hermes") / "config.yaml",
    ),
}
"""By the name that `brain mcp install` takes."""
