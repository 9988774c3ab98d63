"""Real database servers for the tests, each on a socket in a folder of its own, always stopped.

    with run_postgres() as postgres:
        store = SqlExperience(postgres.url, brain)

A server that is asked for and not installed skips the test; in CI that is a failure.
"""

import os
import pwd
import select
import shutil
import signal
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.processes import TIMEOUT_SECONDS

_SERVER_USER = "postgres"
"""Who runs PostgreSQL if the tests run as root, whom its programs refuse."""

_INITDB_OPTIONS = "--username=brain --auth=trust --encoding=UTF8 --locale=C --no-sync".split()


class DatabaseServer:
    """A server that answers at `url`; it may be killed and started again."""

    def __init__(self, url: str, command: Sequence[str], ready_text: str) -> None:
        self.url = url
        self._command = command
        self._ready_text = ready_text
        self._process: subprocess.Popen[str] | None = None
        self.start()

    def start(self) -> None:
        """Start the server and wait until it answers."""
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd="/",
            env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
        )
        output = self._process.stdout
        assert output is not None
        lines: deque[str] = deque(maxlen=50)
        for line in output:
            lines.append(line)
            if self._ready_text in line:
                break
        else:
            raise AssertionError(f"the server did not start: {''.join(lines)}")
        self._reader = threading.Thread(target=lines.extend, args=[output], daemon=True)
        self._reader.start()

    def kill(self) -> None:
        """Kill the server and all its processes at once, as a power cut would."""
        assert self._process is not None
        handles = [os.pidfd_open(number) for number in self._process_ids()]
        for handle in handles:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        for handle in handles:
            assert select.select([handle], [], [], TIMEOUT_SECONDS)[0]
            os.close(handle)
        self._process.wait(TIMEOUT_SECONDS)
        self._reader.join(TIMEOUT_SECONDS)
        assert self._process.stdout is not None
        self._process.stdout.close()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Let no process of the server run inside, so that it accepts and never answers."""
        frozen = self._process_ids()
        for number in frozen:
            os.kill(number, signal.SIGSTOP)
        try:
            yield
        finally:
            for number in frozen:
                os.kill(number, signal.SIGCONT)

    def _process_ids(self) -> list[int]:
        """Return the ids of the server and of the processes that it started."""
        assert self._process is not None
        first = self._process.pid
        children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        return [first, *map(int, children)]

    def stop(self) -> None:
        """Stop the server, if it runs."""
        if self._process is not None and self._process.poll() is None:
            self.kill()


@contextmanager
def run_postgres() -> Iterator[DatabaseServer]:
    """Run PostgreSQL with one empty database."""
    initdb, postgres = (_find_postgres_program(name) for name in ("initdb", "postgres"))
    as_user, own = _server_user()
    with _server_folder(own) as folder:
        data = f"{folder}/data"
        made = subprocess.run(
            [*as_user, initdb, "-D", data, *_INITDB_OPTIONS],
            check=False,
            cwd="/",
            env={"PATH": os.environ["PATH"], "LC_ALL": "C", "TZ": "UTC"},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
        )
        assert made.returncode == 0, made.stderr
        options = {
            "listen_addresses": "",
            "unix_socket_directories": folder,
            "fsync": "off",
            "max_connections": "100",
            "shared_buffers": "32MB",
            "restart_after_crash": "off",
        }
        words = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        server = DatabaseServer(
            f"postgresql+psycopg:///postgres?host={folder}&user=brain",
            [*as_user, postgres, "-D", data, *words],
            "database system is ready to accept connections",
        )
        try:
            yield server
        finally:
            server.stop()


def _find_postgres_program(name: str) -> str:
    found = shutil.which(name) or next(
        map(str, sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)), None
    )
    if found is None:
        pytest.skip("PostgreSQL is not installed; `make test` installs it")
    return found


def _server_user() -> tuple[list[str], Callable[[str], None]]:
    """Return the words that run a program as the server's user, and what gives it a folder."""
    if os.geteuid() != 0:
        return _die_with_us(), lambda folder: None
    user = pwd.getpwnam(_SERVER_USER)
    words = [*_die_with_us(), "--reuid", str(user.pw_uid), "--regid", str(user.pw_gid)]
    return [*words, "--clear-groups"], lambda folder: os.chown(folder, user.pw_uid, user.pw_gid)


def _die_with_us() -> list[str]:
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL"] if setpriv else []


@contextmanager
def _server_folder(own: Callable[[str], None]) -> Iterator[str]:
    """Yield a folder with a short path, since the path of a socket may have 107 bytes."""
    folder = tempfile.mkdtemp(prefix="db")
    own(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
