"""Our sandbox as an environment of Harbor.

`harbor run -p TASK -a oracle -e brain.solving.harbor_environment:Sandbox` uses it.

It needs the extra `harbor`, and with it Python 3.12. There is no network inside, so agents that are
installed inside, or ask a model from there, do not work; the oracle and scripts do.
"""

from __future__ import annotations

from asyncio import to_thread
from pathlib import Path

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities

from ..sandbox.find_sandbox import find_sandbox
from ..sandbox.session import SandboxSession
from ..tasks.images import Place
from ..tasks.task import MAX_SECONDS
from ..tasks.task_folders import MAX_FILE_BYTES, list_files, read_tasks
from .command import extract_folder
from .task_session import TaskSessions, put_places


class Sandbox(BaseEnvironment):  # type: ignore[misc]  # Harbor is not installed everywhere
    """A session of the sandbox of this machine, with the image of the task without Docker."""

    @staticmethod
    def type() -> str:
        return "brain"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        return EnvironmentCapabilities(disable_internet=True)

    def _validate_definition(self) -> None:
        (self._task,) = read_tasks(self.environment_dir.parent).tasks

    async def start(self, force_build: bool) -> None:
        def open_session() -> SandboxSession:
            sessions = TaskSessions(find_sandbox(), self._task)
            return sessions.open(sessions.built(), MAX_SECONDS)

        self._session = await to_thread(open_session)

    async def stop(self, delete: bool) -> None:
        await to_thread(self._session.close)

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        data = Path(source_path).read_bytes()
        await to_thread(self._session.put, str(target_path), data, 0o755)

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        files = list_files(Path(source_dir), Path(source_dir))
        places = [Place(f"{target_dir}/{name}", file) for name, file in files.items()]
        await to_thread(put_places, self._session, places)

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        data = await to_thread(self._session.get, str(source_path), MAX_FILE_BYTES)
        Path(target_path).write_bytes(data)

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        archive = await to_thread(self._session.pack, str(source_dir))
        Path(target_dir).mkdir(parents=True, exist_ok=True)
        extract_folder(archive, str(source_dir), Path(target_dir))

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        where = {"cwd": cwd or self._task.image.folder, "env": self._merge_env(env)}
        seconds = timeout_sec or MAX_SECONDS
        done = await to_thread(self._session.run, script=command, seconds=seconds, **where)
        return ExecResult(stdout=done.output.decode(errors="replace"), return_code=done.status)
