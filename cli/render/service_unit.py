"""Unit files that keep `brain evolve run` running: systemd and launchd."""

from __future__ import annotations

import os
import plistlib
import shutil
import sys
from pathlib import Path

from brain.digest import blob_id
from brain.errors import InvalidInput, printable_text

_LABEL_DIGITS = 8
STOP_SECONDS = 300
"""A stop waits for the answer of the model that is under way."""


def build_unit(kind: str, folder: Path) -> str:
    """Return the text of a unit for the brain in a folder; `kind` is systemd or launchd.

    Raises `InvalidInput` (`bad_path`) for a folder that no unit file can name.
    """
    root = str(folder.resolve())
    if not root.isprintable():
        raise InvalidInput(
            f"{printable_text(root, 200)} has characters that a unit file cannot hold",
            code="bad_path",
            hint="rename the folder",
        )
    command = [*_find_program(), "-C", root, "evolve", "run"]
    return _systemd_unit(command, root) if kind == "systemd" else _launchd_unit(command, root)


def _find_program() -> list[str]:
    """Return the command that is running, by its full path."""
    found = shutil.which(sys.argv[0]) if os.path.basename(sys.argv[0]) == "brain" else None
    if found:
        return [os.path.abspath(found)]
    return [sys.executable, "-P", "-m", "brain_cli"]


def _systemd_unit(command: list[str], root: str) -> str:
    return f"""\
[Unit]
Description=Learn from the runs of the brain in {_escape_specifiers(root)}
After=network-online.target
Wants=network-online.target

[Service]
ExecStart={" ".join(map(_quote_argument, command))}
Restart=on-failure
RestartSec=60
TimeoutStopSec={STOP_SECONDS}
KillMode=mixed

[Install]
WantedBy=default.target
"""


def _quote_argument(argument: str) -> str:
    """Quote an argument for ExecStart, where %, $ and backslashes have a meaning."""
    escaped = argument.replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return f'"{_escape_specifiers(escaped)}"'


def _escape_specifiers(text: str) -> str:
    return text.replace("%", "%%")


def _launchd_unit(command: list[str], root: str) -> str:
    name = blob_id(root.encode()).hex()[:_LABEL_DIGITS]
    unit = {
        "Label": f"brain.evolve.{name}",
        "ProgramArguments": command,
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 60,
        "ExitTimeOut": STOP_SECONDS,
        "ProcessType": "Background",
    }
    return plistlib.dumps(unit).decode()
