"""Read the table of clients: for each program where skills, memory and MCP settings lie."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from .client_row import Client, ClientFolder, McpSettings, MemoryPlace

TABLE_PATH = Path(__file__).with_name("clients.toml")


@cache
def load_clients() -> Mapping[str, Client]:
    """Return the rows by the name for `--to` and `mcp install`, in their order.

    `--as` takes the name too, for the home of the program and for projects.
    """
    rows = tomllib.loads(TABLE_PATH.read_text("utf-8"))
    return {name: _build_client(row) for name, row in rows.items()}


def _build_client(row: dict[str, Any]) -> Client:
    parts = {"home": _build_folder, "project": _build_folder, "mcp": _build_mcp}
    built = {key: parts[key](value) if key in parts else value for key, value in row.items()}
    return Client(**_tuples(built))


def _build_folder(row: dict[str, Any]) -> ClientFolder:
    files = tuple(MemoryPlace(**file) for file in row.pop("memory_files", ()))
    left_out = {reason: tuple(found) for reason, found in row.pop("left_out", {}).items()}
    return ClientFolder(**_tuples(row), memory_files=files, left_out=left_out)


def _build_mcp(row: dict[str, Any]) -> McpSettings:
    user_on = {system: tuple(paths) for system, paths in row.pop("user_on", {}).items()}
    return McpSettings(**_tuples(row), user_on=user_on)


def _tuples(row: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
