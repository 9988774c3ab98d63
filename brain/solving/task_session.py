"""Sessions of a task: its image is built once, and each solver and verifier gets a copy."""

from __future__ import annotations

import io
import posixpath
import tarfile
from collections.abc import Sequence

from ..errors import printable_text
from ..sandbox.job import MIB, Sandbox, SandboxLimits
from ..sandbox.session import SandboxSession
from ..tasks.images import Place, Run
from ..tasks.task import Task
from .provisions import STAND_INS, STAND_INS_PLACE, provide

MAX_STATE_BYTES = 1 << 30
_BUILD_SECONDS = 300.0
_STEP_SECONDS = 120.0
_WITH_MOUNTS = ("/", "/etc", "/etc/ssl", "/opt")
"""Folders that hold mounts beside what a task wrote; an archive of a mount cannot be unpacked."""
_NOT_PACKED = {
    *_WITH_MOUNTS,
    *("/bin", "/dev", "/folders", "/job", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/sbin"),
    *("/sys", "/usr"),
}
_LIST = ("find", *_WITH_MOUNTS, "-mindepth", "1", "-maxdepth", "1", "-printf", "%D %p\\0")
_MAX_NOTES = 8
STAND_IN_PLACES = (
    *(Place(f"{STAND_INS_PLACE}/{name}", None, text) for name, text in STAND_INS.items()),
    Place("/root/.local/bin/env", None),
)


class TaskSessions:
    """Opens sessions of one task, which is built at the first. Raises as `provide` does."""

    def __init__(self, sandbox: Sandbox, task: Task) -> None:
        self._sandbox = sandbox
        self.task = task
        self.notes: list[str] = []
        """What of its image is not as it asks for, and may make no difference."""
        self._folders, self._environment = provide(task.image, self.notes)
        self._built = b""

    def built(self) -> bytes:
        """Return the state that every solver begins with. Raises `SandboxError`."""
        if not self._built:
            with self.open(b"", _BUILD_SECONDS) as session:
                notes = self._build(session)
                self._built = pack_state(session)
                self.notes += notes
        return self._built

    def open(self, state: bytes, seconds: float) -> SandboxSession:
        """Open a session with the files of a state, none for b"", for a step of `seconds`.

        Raises `SandboxError`.
        """
        task = self.task
        session = SandboxSession(
            self._sandbox,
            limits=SandboxLimits(
                wall_seconds=seconds + _STEP_SECONDS,
                cpu_seconds=int(2 * seconds) + 60,
                memory_bytes=max(task.limits.memory_bytes, 1024 * MIB),
                processes=256,
                file_bytes=task.limits.storage_bytes,
                files=200_000,
                open_files=1024,
                output_bytes=4 * MIB,
                requests=1_000_000,
            ),
            folders=self._folders,
            environment={**task.image.environment, **self._environment},
            start=task.image.folder,
            loopback=True,
        )
        try:
            if state:
                session.unpack(state)
        except BaseException:
            session.close()
            raise
        return session

    def _build(self, session: SandboxSession) -> list[str]:
        """Do the steps of the image; return what failed."""
        notes: list[str] = []
        places = [*STAND_IN_PLACES, Place("/logs/verifier/", None), Place("/logs/agent/", None)]
        for step in self.task.image.steps:
            if isinstance(step, Place):
                places.append(step)
                continue
            put_places(session, places)
            places = []
            if fault := self._run(session, step):
                notes.append(fault)
        start = self.task.image.folder
        places += [
            Place(posixpath.join(start, name), file) for name, file in self.task.files.items()
        ]
        put_places(session, places)
        return notes[:_MAX_NOTES]

    def _run(self, session: SandboxSession, step: Run) -> str:
        environment = {**step.environment, **self._environment}
        argv = (*step.shell, step.command)
        done = session.run(*argv, cwd=step.folder, env=environment, seconds=_STEP_SECONDS)
        if done.status == 0:
            return ""
        last = done.output.decode(errors="replace").strip().rpartition("\n")[2]
        why = f"took over {_STEP_SECONDS:.0f} s" if done.is_late else f"status {done.status}"
        return printable_text(
            f"RUN {' '.join(step.command.split())[:60]}: {why}, {last[:120]}", 300
        )


def pack_state(session: SandboxSession) -> bytes:
    """Return all files of a session as an archive. Raises `SandboxError`."""
    listed = session.run(*_LIST).output.decode("utf-8", "surrogateescape").split("\0")
    rows = [row.partition(" ") for row in listed]
    own = next((device for device, _, path in rows if path == "/tmp"), "")
    kept = [path for device, _, path in rows if device == own and path not in _NOT_PACKED]
    return session.pack(*kept, max_bytes=MAX_STATE_BYTES)


def put_places(session: SandboxSession, places: Sequence[Place]) -> None:
    """Put files into a session as one archive; a target that ends with / is an empty folder.

    Raises `SandboxError`.
    """
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for place in places:
            member = tarfile.TarInfo(place.target.strip("/"))
            if place.target.endswith("/"):
                member.type, member.mode = tarfile.DIRTYPE, 0o755
                if member.name:
                    tar.addfile(member)
                continue
            data = place.text.encode()
            if place.file is not None:
                with open(place.file.path, "rb") as file:
                    data = file.read(place.file.size)
            is_program = place.file.is_program if place.file else data.startswith(b"#!")
            member.size, member.mode = len(data), 0o755 if is_program else 0o644
            tar.addfile(member, io.BytesIO(data))
    if places:
        session.unpack(archive.getvalue())
