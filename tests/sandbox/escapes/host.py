"""A host with secrets, listeners and a process, which notices what reaches it."""

import os
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.sandbox.process_search import processes_with_memory_limit

from .attempt import FAMILY, LIMITS, MEMORY_BYTES

_PRIVATE_FILES = ("secret.txt", ".ssh/id_ed25519", ".brain/store.db")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedHost:
    """What attempts are after. No secret is in `facts`, which attempts are given."""

    secret: str
    facts: dict[str, object]
    folder: Path
    files: dict[Path, bytes]
    victim: subprocess.Popen[bytes]
    sockets: list[socket.socket]

    def effects(self) -> list[str]:
        """Return what attempts have changed on the host, and what has reached it."""
        found = [
            f"{path} was changed"
            for path, content in self.files.items()
            if not path.is_file() or path.read_bytes() != content
        ]
        found += [f"{path} was made" for path in self.folder.rglob("made")]
        if self.victim.poll() is not None:
            found.append("a process of the host was ended")
        if os.uname().nodename != self.facts["name"]:
            found.append("the host has another name")
        for one in self.sockets:
            with suppress(BlockingIOError):
                came = one.accept() if _listens(one) else one.recv(100)
                found.append(f"{came!r} arrived at {one.getsockname()!r}")
        return found + [
            f"process {pid} is left" for pid in processes_with_memory_limit(MEMORY_BYTES)
        ]


@contextmanager
def planted_host() -> Iterator[PlantedHost]:
    """Plant secrets in files, variables, descriptors and a process, and listen for attempts."""
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="escapes-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        secret, run = (f"{word}-{secrets.token_hex(12)}" for word in ("planted", "run"))
        files = _write_files(folder, secret)
        stack.enter_context(_variables({"BRAIN_TEST": secret, "HOME": str(folder)}))
        sockets = [*_listeners(stack, run, folder / "data"), _carelessly_inherited(stack, folder)]
        victim = subprocess.Popen(["/usr/bin/sleep", "1000"], env={"KEY": secret}, cwd=folder)
        stack.callback(victim.wait)
        stack.callback(victim.kill)
        facts: dict[str, object] = {
            "run": run,
            "folder": str(folder),
            "secret": str(folder / "secret.txt"),
            "key": str(folder / ".ssh/id_ed25519"),
            "store": str(folder / ".brain/store.db"),
            "pid": victim.pid,
            "group": os.getpgrp(),
            "name": os.uname().nodename,
            "machine": os.uname().machine,
            "port": sockets[0].getsockname()[1],
            "datagram_port": sockets[1].getsockname()[1],
            "memory": LIMITS.memory_bytes,
            "family_memory": FAMILY.memory_bytes,
            "abstract": f"\0{run}",
            "abstract_datagram": f"\0{run}-datagram",
        }
        yield PlantedHost(
            secret=secret, facts=facts, folder=folder, files=files, victim=victim, sockets=sockets
        )


def _write_files(folder: Path, secret: str) -> dict[Path, bytes]:
    """Write files that every user may read and write, and a folder to approve."""
    folder.chmod(0o755)
    files = {folder / name: f"{secret}\n".encode() for name in _PRIVATE_FILES}
    files[folder / "data/file"] = b"approved\n"
    for path, content in files.items():
        path.parent.mkdir(exist_ok=True)
        path.parent.chmod(0o777)
        path.write_bytes(content)
        path.chmod(0o666)
    (folder / "data/out").symlink_to(folder / "secret.txt")
    return files


def _listeners(stack: ExitStack, run: str, folder: Path) -> Iterator[socket.socket]:
    for family, kind, address in (
        (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
        (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
        (socket.AF_UNIX, socket.SOCK_STREAM, f"\0{run}"),
        (socket.AF_UNIX, socket.SOCK_DGRAM, f"\0{run}-datagram"),
        (socket.AF_UNIX, socket.SOCK_STREAM, str(folder / "stream")),
        (socket.AF_UNIX, socket.SOCK_DGRAM, str(folder / "datagram")),
    ):
        one = stack.enter_context(socket.socket(family, kind))
        one.bind(address)
        one.setblocking(False)
        if kind == socket.SOCK_STREAM:
            one.listen()
        if isinstance(address, str) and address.startswith("/"):
            os.chmod(address, 0o777)
        yield one


def _listens(one: socket.socket) -> bool:
    return one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 1


def _carelessly_inherited(stack: ExitStack, folder: Path) -> socket.socket:
    """Open a file, a folder and a socket that started programs inherit; return its other end."""
    ours, theirs = (stack.enter_context(one) for one in socket.socketpair())
    ours.setblocking(False)
    for path, flags in ((folder / "secret.txt", os.O_RDWR), (folder, os.O_RDONLY)):
        descriptor = os.open(path, flags)
        stack.callback(os.close, descriptor)
        os.set_inheritable(descriptor, True)
    os.set_inheritable(theirs.fileno(), True)
    return ours


@contextmanager
def _variables(values: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
