"""Find the sandbox of this machine, or say why there is none and what to do."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import replace

from ..errors import SandboxError, printable_text
from .job import DEFAULT_LIMITS, Sandbox, SandboxJob, SandboxProfile

_FINDS_PROC = b"import os, sys; sys.exit(not os.path.exists('/proc/self'))"
_SYSTEM_PATH = "/usr/bin:/bin:/usr/local/bin"
"""Where the programs of a sandbox are looked for: not in the PATH, which others may have set."""


def probe_sandbox() -> SandboxProfile:
    """Run an empty job in the sandbox of this machine, and return what that is made of.

    `memory` in it says what limited the memory of its processes together, and `/proc`, whether
    sessions have one.

    Raises `SandboxError` that says why there is none, and what to do.
    """
    sandbox = find_sandbox()
    job = SandboxJob(
        arguments=("/job/empty.py",),
        files={"/job/empty.py": b""},
        limits=replace(DEFAULT_LIMITS, processes=2),  # whose memory takes more than one limit
    )
    outcome = sandbox.run(job)
    if outcome.ended_by != "exit" or outcome.status != 0:
        raise SandboxError(
            f"an empty program failed in the sandbox ({outcome.ended_by}, {outcome.status}):"
            f" {printable_text(outcome.stderr)}",
            hint="run `bwrap --version` and `prlimit --version`, and install anew what fails",
        )
    found = [("memory", outcome.memory)]
    if sys.platform == "linux":
        job = replace(job, files={"/job/empty.py": _FINDS_PROC}, is_machine=True)
        has_proc = sandbox.run(job).status == 0
        why = "sessions have none: parts of this machine's own are covered, as in a container"
        found.append(("/proc", "of their own for sessions" if has_proc else why))
    return replace(sandbox.profile, versions=(*sandbox.profile.versions, *found))


def find_sandbox() -> Sandbox:
    """Return the sandbox of this machine, without starting it.

    Raises `SandboxError` (`no_sandbox`) that names what is missing.
    """
    if sys.platform == "darwin" and (program := shutil.which("sandbox-exec", path=_SYSTEM_PATH)):
        from .sandbox_exec import SandboxExecSandbox

        return SandboxExecSandbox(program)
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
