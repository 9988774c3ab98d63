"""The Python that runs in a sandbox: this one if the sandbox's user can read it, else another."""

from __future__ import annotations

import os
import sys
from typing import NamedTuple

from ..errors import SandboxError
from .job_folders import is_public

SYSTEM_PYTHON = "/usr/bin/python3"
_FOLDERS = ("bin", "lib", "lib64")


class Interpreter(NamedTuple):
    """A Python: its program, and the folders of its installation unless that is the system's."""

    path: str
    folders: tuple[str, ...]


def choose_interpreter(*, for_other_user: bool) -> Interpreter:
    """Return the interpreter for a sandbox, whose user may be another one than this.

    Raises `SandboxError` (`no_interpreter`).
    """
    path = os.path.realpath(sys.executable)
    folder = os.path.realpath(sys.base_prefix)
    if path.startswith("/usr/bin/"):
        return Interpreter(path, ())
    readable = not for_other_user or (is_public(path) and is_public(os.__file__))
    if path.startswith(f"{folder}/") and readable:
        return Interpreter(path, tuple(f"{folder}/{name}" for name in _FOLDERS))
    if os.path.exists(SYSTEM_PYTHON):
        return Interpreter(os.path.realpath(SYSTEM_PYTHON), ())
    raise SandboxError(
        f"a sandbox cannot read the Python at {folder}, and there is no {SYSTEM_PYTHON}",
        code="no_interpreter",
        hint="install Python where all users can read it, such as /usr/bin/python3",
    )
