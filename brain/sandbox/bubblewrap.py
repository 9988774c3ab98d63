"""The sandbox of Linux: bubblewrap in namespaces of its own, seccomp and limits of resources.

As root, `setpriv` first changes to a user that nothing else has. Inside there are the Python that
runs it, read-only, an empty /tmp of bounded size, five devices, and the files of the job;
no network, no other files, no environment, and no /proc, which shows much of the host, but in
sessions: there a part of it shows what runs inside. `prlimit` sets what each process may use.
"""

from __future__ import annotations

import contextlib
import glob
import os
import platform
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from threading import Event
from typing import NamedTuple

from ..errors import SandboxError
from .hidden_paths import check_folders, is_public
from .job import (
    START_FILE,
    SandboxJob,
    SandboxLimits,
    SandboxOutcome,
    SandboxProfile,
    list_job_files,
)
from .memory import JobMemory, memory_group
from .process import FIRST_CONTENT, spawn_process
from .seccomp import build_filter
from .watch import JobWatch

_SYSTEM_FOLDERS = ("/usr/bin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/share/zoneinfo")
_LINKED_FOLDERS = ("bin", "lib", "lib32", "lib64")
_MACHINE_FOLDERS = ("/usr/sbin", "/usr/libexec", "/usr/include", "/usr/share", "/sbin")
_MACHINE_SETTINGS = ("alternatives", "fonts", "ld.so.cache", "perl", "ssl/openssl.cnf")
"""Of /etc, with python3* and java*: nothing in them is of this host rather than of its programs."""
_DEVICES = ("null", "zero", "full", "random", "urandom")
_OF_PROC = "cpuinfo filesystems loadavg meminfo mounts net self stat sys thread-self uptime version"
"""What a session sees in /proc beside its processes."""
_OWN_PROCESSES = 1
"""What bubblewrap itself runs inside, counted with those of the job."""
_STACK_BYTES = 8 << 20
_MIN_FILE_BYTES = 4096
"""bubblewrap refuses a tmpfs of size 0, and the kernel rounds up to a page."""


class BubblewrapSandbox:
    """Runs jobs with bubblewrap, as root each under a user id of its own."""

    def __init__(self, programs: dict[str, str]) -> None:
        """`programs` are the paths of bwrap, prlimit and, as root, setpriv."""
        self._programs = programs
        self._as_root = os.geteuid() == 0
        self._may_mount_proc = True

    @cached_property
    def interpreter(self) -> Interpreter:
        """The Python that runs inside."""
        return choose_interpreter(for_other_user=self._as_root)

    @cached_property
    def profile(self) -> SandboxProfile:
        """What this sandbox is made of. Raises `SandboxError` if one of its programs fails."""
        return SandboxProfile(
            name="bubblewrap",
            versions=(
                ("bubblewrap", _ask_version(self._programs["bwrap"]).removeprefix("bubblewrap ")),
                ("linux", platform.release()),
                ("python", _ask_version(self.interpreter.path).removeprefix("Python ")),
            ),
        )

    def run(self, job: SandboxJob, cancel: Event | None = None) -> SandboxOutcome:
        """Run a job to its end; see `Sandbox.run`."""
        try:
            return self._run(job, cancel)
        except SandboxError as error:
            if not (job.is_machine and self._may_mount_proc and "/newroot/proc" in error.message):
                raise
            self._may_mount_proc = False  # where this one covers parts of it, as in a container
            return self._run(job, cancel)

    def _run(self, job: SandboxJob, cancel: Event | None) -> SandboxOutcome:
        files = list_job_files(job, job.arguments)
        folders = list(check_folders(job.folders, job.hidden, for_other_user=self._as_root))
        if self._as_root:
            end_orphans()
        with ExitStack() as stack:
            uid = stack.enter_context(reserved_uid() if self._as_root else nullcontext(None))
            # Processes that share a limit: by a group, else each has its part of the limit.
            shares = job.limits.processes > 1
            group = stack.enter_context(memory_group(job.limits.memory_bytes)) if shares else None
            # A shell needs more than its part, and there what all use is added up instead.
            sums = job.is_machine and group is None
            options, seccomp, *numbers = range(FIRST_CONTENT, FIRST_CONTENT + 2 + len(files))
            isolation = self._isolate(job, seccomp, dict(zip(files, numbers, strict=True)))
            for place, path, hidden in folders:
                isolation += ["--ro-bind", path, place]
                for one in hidden:
                    isolation += _cover(f"{place}/{one.path}", one.is_folder)
            isolation += [] if job.is_machine else ["--remount-ro", "/"]
            isolation += ["--chdir", "/tmp"]
            locks = all(name.startswith("/") for name in job.folders)
            contents = {
                0: job.stdin,
                options: "\0".join(isolation).encode("utf-8", "surrogateescape"),
                seccomp: build_filter(
                    shares, locks=locks, is_machine=job.is_machine, loopback=job.loopback
                ),
                **dict(zip(numbers, files.values(), strict=True)),
            }
            user = [] if uid is None else [self._programs["setpriv"], f"--reuid={uid}"]
            if user:
                user += [f"--regid={uid}", "--clear-groups", "--no-new-privs"]
                user += ["--bounding-set=-all", "--inh-caps=-all", "--"]
            arguments = [
                *(group.enter_command() if group is not None else ()),
                *user,
                *(self._programs["bwrap"], "--args", str(options), "--"),
                *self._limit(job.limits, job.limits.processes if group is None and not sums else 1),
                *(self.interpreter.path, "-I", "-S", "-B", START_FILE),
            ]
            process = spawn_process(arguments, contents)
            stack.callback(process.close)
            memory = JobMemory(process, group, job.limits, sums)
            stack.callback(memory.close)
            outcome = JobWatch(process, job, cancel, memory).watch()
            limited = "address space, shared out to processes" if shares else "address space"
            if sums:
                limited = "address space of each process, and their sum as it was looked at"
            if group is not None:
                limited = f"control group v{group.version}"
            return replace(outcome, memory=limited)

    def _isolate(self, job: SandboxJob, seccomp: int, files: Mapping[str, int]) -> list[str]:
        """Return options for a file of them, since all users of the machine see command lines."""
        out = [
            *("--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL"),
            *("--die-with-parent", "--new-session", "--hostname", "sandbox"),
            *("--clearenv", "--setenv", "HOME", "/tmp"),
            *("--seccomp", str(seccomp)),
        ]
        size = max(job.limits.file_bytes, _MIN_FILE_BYTES)
        if job.is_machine:  # one file system for all of it, so that its bytes and files are bounded
            out += ["--perms", "0755", "--size", str(size), "--tmpfs", "/"]
            out += ["--perms", "0700", "--dir", "/tmp"]
            settings = [f"/etc/{name}" for name in _MACHINE_SETTINGS]
            for path in (*settings, *glob.glob("/etc/python3*"), *glob.glob("/etc/java*")):
                out += ["--ro-bind-try", path, path]
            # What it names is loaded into every program, also of those who look at its files.
            out += ["--ro-bind", "/dev/null", "/etc/ld.so.preload"]
        more = _MACHINE_FOLDERS if job.is_machine else ()
        for path in (*_SYSTEM_FOLDERS, *self.interpreter.folders, *more):
            if os.path.isdir(path) and not os.path.islink(path):
                out += ["--ro-bind", path, path]
        for name in _LINKED_FOLDERS:
            if os.path.islink(f"/{name}"):
                out += ["--symlink", os.readlink(f"/{name}"), f"/{name}"]
            elif os.path.isdir(f"/{name}"):
                out += ["--ro-bind", f"/{name}", f"/{name}"]
        for name in _DEVICES:
            out += ["--dev-bind", f"/dev/{name}", f"/dev/{name}"]
        if job.is_machine and self._may_mount_proc:
            out += _mount_proc()
        if not job.is_machine:
            out += ["--perms", "0700", "--size", str(size), "--tmpfs", "/tmp"]
        out += ["--symlink", "/tmp", "/dev/shm"]
        for path, number in files.items():
            out += ["--file", str(number), path]
        return out

    def _limit(self, limits: SandboxLimits, parts: int) -> list[str]:
        tasks = limits.processes if limits.processes > 1 else limits.threads
        return [
            self._programs["prlimit"],
            f"--as={limits.memory_bytes // parts}",
            f"--stack={_STACK_BYTES}",
            f"--nproc={_OWN_PROCESSES + tasks}",
            f"--cpu={limits.cpu_seconds}:{limits.cpu_seconds + 1}",
            f"--fsize={limits.file_bytes}",
            f"--nofile={limits.open_files}",
            *("--core=0", "--memlock=0", "--msgqueue=0", "--rtprio=0", "--nice=0"),
            *("--sigpending=1024", "--"),
        ]


def _mount_proc() -> Iterator[str]:
    yield from ("--proc", "/proc")
    # To write to the memory of the first process would let it outlive this program.
    yield from _cover("/proc/1", is_folder=True)
    with os.scandir("/proc") as entries:
        for one in entries:
            if not one.name.isdigit() and one.name not in _OF_PROC.split():
                yield from _cover(f"/proc/{one.name}", one.is_dir())
    for name, target in {"fd": "", "stdin": "/0", "stdout": "/1", "stderr": "/2"}.items():
        yield from ("--symlink", f"/proc/self/fd{target}", f"/dev/{name}")


def _cover(place: str, is_folder: bool) -> Iterator[str]:
    if is_folder:
        yield from ("--perms", "0555", "--size", str(_MIN_FILE_BYTES), "--tmpfs", place)
        yield from ("--remount-ro", place)
    else:  # a device of a mount without devices cannot be opened
        yield from ("--ro-bind", "/dev/null", place)


def _ask_version(program: str) -> str:
    try:
        done = subprocess.run(
            [program, "--version"],
            check=True,
            capture_output=True,
            text=True,
            timeout=10,
            env={},
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise SandboxError(
            f"{program} does not say its version: {error}", hint="install it anew"
        ) from error
    return done.stdout.strip()


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


FIRST_UID = 60_706
LAST_UID = 61_183
"""A range that systemd leaves unused (its page UIDS-GIDS), and that containers map as well."""


@contextmanager
def reserved_uid() -> Iterator[int]:
    """Hold a user id that no other sandbox of this machine has.

    Raises `SandboxError` (`no_uid`) if all are taken, or the user namespace of this process does
    not have them.
    """
    if not _is_mapped(LAST_UID):
        raise SandboxError(
            f"root of this container has no user ids {FIRST_UID} to {LAST_UID} for sandboxes",
            code="no_uid",
            hint="run skills as a user other than root, or map 65536 user ids into the container",
        )
    count = LAST_UID - FIRST_UID + 1
    start = os.getpid() % count
    for step in range(count):
        uid = FIRST_UID + (start + step) % count
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as lock:
            if _lock_uid(lock, uid):
                yield uid
                return
    raise SandboxError(
        f"all {count} user ids for sandboxes are in use", code="no_uid", hint="try again later"
    )


@cache
def end_orphans() -> None:
    """End processes of sandboxes whose program was killed, once in the life of this one.

    bubblewrap, ended together with its program while it starts, may leave a child that waits for
    ever. It has become a child of process 1, and nothing holds its user id.
    """
    if os.getpid() == 1:
        return  # its own sandboxes are children of process 1
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended
            uid = folder.stat().st_uid
            if not FIRST_UID <= uid <= LAST_UID:
                continue
            if re.search(r"^PPid:\t1$", (folder / "status").read_text(), re.MULTILINE):
                with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as lock:
                    if _lock_uid(lock, uid):
                        os.kill(int(folder.name), signal.SIGKILL)


def _lock_uid(lock: socket.socket, uid: int) -> bool:
    try:
        lock.bind(f"\0brain-sandbox-{uid}")
    except OSError:
        return False
    return True


def _is_mapped(uid: int) -> bool:
    try:
        with open("/proc/self/uid_map") as rows:
            ranges = [[int(number) for number in row.split()] for row in rows]
    except OSError:
        return True  # no kernel with namespaces, or no /proc, of which bubblewrap says more
    return any(first <= uid < first + length for first, _, length in ranges)
