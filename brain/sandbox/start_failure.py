"""Say why bubblewrap could not isolate a job on this machine, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..errors import SandboxError, printable_text

_SYSCTLS = Path("/proc/sys")
_CONTAINER_MARKS = (Path("/.dockerenv"), Path("/run/.containerenv"))
_NAMESPACE_WORDS = ("namespace", "uid map", "RTM_NEWADDR", "user_namespaces")
"""Parts of what bubblewrap says if the kernel refuses a namespace, or a right within it."""


def explain_failure(stderr: bytes) -> SandboxError:
    """Return the error for a sandbox that ended before its job began, from what it printed."""
    lines = stderr.decode(errors="replace").splitlines()
    reason = printable_text(lines[-1], 200) if lines else "it ended without a message"
    if " /folders/" in reason:  # a file that is to be covered is gone since it was found
        return SandboxError(
            f"an approved folder changed as the skill was started: {reason}",
            code="bad_folder",
            hint="try again, or approve a folder in which no keys or sockets come and go",
        )
    return SandboxError(
        f"the sandbox could not be started: {reason}", code="no_sandbox", hint=_find_hint(reason)
    )


def _find_hint(reason: str) -> str:
    if "nknown option" in reason:
        return "install bubblewrap 0.8 or later"
    if "source path" in reason or "/oldroot/" in reason:
        return "make the folder readable for the user that runs skills, or remove its approval"
    if not (_SYSCTLS / "kernel").exists():
        return "mount the kernel's /proc, as with `sudo mount -t proc proc /proc`"
    if any(word in reason for word in _NAMESPACE_WORDS):
        return next(_namespace_hints(), "allow user namespaces to this user")
    return "run skills on a machine where `bwrap --unshare-all --ro-bind / / true` works"


def _namespace_hints() -> Iterator[str]:
    if _read_sysctl("user/max_user_namespaces") == "0":
        yield "allow user namespaces: `sudo sysctl user.max_user_namespaces=10000`"
    if _read_sysctl("kernel/unprivileged_userns_clone") == "0":
        yield "allow user namespaces: `sudo sysctl kernel.unprivileged_userns_clone=1`"
    if _read_sysctl("kernel/apparmor_restrict_unprivileged_userns") == "1":
        yield (
            "AppArmor forbids it: install a profile for bwrap, on Ubuntu with `sudo apt install"
            " apparmor-profiles`, and copy /usr/share/apparmor/extra-profiles/bwrap-userns-restrict"
            " to /etc/apparmor.d; then `sudo systemctl reload apparmor`"
        )
    if any(mark.exists() for mark in _CONTAINER_MARKS):
        yield (
            "the container forbids it: start it with `--security-opt seccomp=unconfined"
            " --security-opt systempaths=unconfined`, or run skills outside of it"
        )


def _read_sysctl(name: str) -> str:
    try:
        return (_SYSCTLS / name).read_text().strip()
    except OSError:
        return ""
