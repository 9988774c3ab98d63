"""The Python that runs in a sandbox: this one if the sandbox's user can read it, else another."""

from __future__ import annotations

import os
import stat
import sys
from typing import NamedTuple

from ..errors import SandboxError

SYSTEM_PYTHON = "/usr/bin/python3"


class Interpreter(NamedTuple):
    """A Python: its program, and the folder it is installed in, "" if that is /usr."""

    path: str
    folder: str


def choose_interpreter(*, for_other_user: bool) -> Interpreter:
    """Return the interpreter for a sandbox, whose user may be another one than this.

    Raises `SandboxError` (`no_interpreter`).
    """
    path = os.path.realpath(sys.executable)
    folder = os.path.realpath(sys.base_prefix)
    if path.startswith("/usr/bin/"):
        return Interpreter(path, "")
    if path.startswith(f"{folder}/") and (not for_other_user or _is_public(path)):
        return Interpreter(path, folder)
    if os.path.exists(SYSTEM_PYTHON):
        return Interpreter(os.path.realpath(SYSTEM_PYTHON), "")
    raise SandboxError(
        f"a sandbox cannot read the Python at {folder}, and there is no {SYSTEM_PYTHON}",
        code="no_interpreter",
        hint="install Python where all users can read it, such as /usr/bin/python3",
    )


def _is_public(path: str) -> bool:
    """Tell whether every user can reach and run the file at `path`."""
    while True:
        if not os.stat(path).st_mode & stat.S_IXOTH:
            return False
        if path == "/":
            return True
        path = os.path.dirname(path)
