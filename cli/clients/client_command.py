"""Add a server with the client's own command, such as `claude mcp add`."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from brain.clients.client_row import ARGUMENTS, COMMAND, NAME, PROGRAM, McpSettings

COMMAND_SECONDS = 120
"""How long a client's command may take; some start a runtime and check for updates first."""


def build_add_command(
    settings: McpSettings, scope: str, name: str, entry: dict[str, Any], command: Sequence[str]
) -> list[str] | None:
    """Return the client's own command, None if it has none for the scope, or is not installed."""
    if not settings.add or scope not in settings.scopes:
        return None
    program, *words = shlex.split(settings.add)
    found = shutil.which(program)
    if found is None:
        return None
    values = {
        "{scope}": [scope],
        NAME: [name],
        "{json}": [json.dumps(entry, ensure_ascii=False)],
        "{named_json}": [json.dumps({"name": name, **entry}, ensure_ascii=False)],
        PROGRAM: [command[0]],
        ARGUMENTS: list(command[1:]),
        COMMAND: list(command),
    }
    return [found, *(value for word in words for value in values.get(word, [word]))]


def run_add_command(command: Sequence[str], folder: Path) -> str:
    """Run the command in `folder`; return "", or why it failed."""
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
    if done.returncode == 0:
        return ""
    lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return lines[-1] if lines else f"exit status {done.returncode}"
