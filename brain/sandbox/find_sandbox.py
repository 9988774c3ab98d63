"""Find the sandbox of this machine, or say why there is none and what to do."""

from __future__ import annotations

import os
import shutil
import sys

from ..errors import SandboxError
from .sandbox_protocol import Sandbox

_SYSTEM_PATH = "/usr/bin:/bin:/usr/local/bin"
"""Where the programs of a sandbox are looked for: not in the PATH, which others may have set."""


def find_sandbox() -> Sandbox:
    """Return the sandbox of this machine, without starting it.

    Raises `SandboxError` (`no_sandbox`) that names what is missing.
    """
    if sys.platform != "linux":
        raise SandboxError(
            f"there is no sandbox for skills on {sys.platform}",
            hint="run skills on Linux; everything else works here",
        )
    wanted = ["bwrap", "prlimit", *(["setpriv"] if os.geteuid() == 0 else [])]
    found = {name: shutil.which(name, path=_SYSTEM_PATH) for name in wanted}
    missing = [name for name, path in found.items() if path is None]
    if missing:
        raise SandboxError(
            f"skills run only in a sandbox, and {', '.join(missing)} is not installed",
            hint="install bubblewrap and util-linux, as with `sudo apt install bubblewrap`",
        )
    from .bubblewrap import BubblewrapSandbox

    return BubblewrapSandbox({name: path for name, path in found.items() if path})
