"""Clone the newest commit of the repository at a URL, to adopt its files.

git fetches with the user's settings, since the credentials, proxies and certificates for the
server are there, and checks out without any. Of the server nothing runs: there are no hooks, no
submodules and no filters, and only the transports below are used, also after a redirect. The files
have the bytes that were committed.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit

from ..errors import InvalidInput, printable_text

MAX_CLONE_BYTES = 4 << 30
"""Bytes of the objects of a clone."""
MAX_FILES = 1_000_000
"""Files of the newest commit. Nine nested trees that name each other ten times have more."""
MAX_FILE_BYTES = 8 << 30
"""Bytes of all files of the newest commit."""
MAX_CLONE_SECONDS = 3600.0
_STALLED_SECONDS = 60
"""How long an HTTP server may send less than a kilobyte a second."""
_POLL_SECONDS = 0.2
_MAX_ERROR_BYTES = 64 << 10

_TRANSPORTS = {
    "https": ("https", "ssh"),  # users rewrite the one to the other in their settings
    "ssh": ("https", "ssh"),
    "http": ("http",),
    "file": ("file",),
}
"""By the scheme of the URL: the transports that git may use."""
_LOOPBACK_HOSTS = frozenset(("localhost", "127.0.0.1", "::1"))
_SCP_FORM = re.compile(r"(?P<host>[\w.-]+@[\w.-]+):(?P<path>[^:]+)")
_ANY_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?://|:)")
_CONTROLS = re.compile("[\0-\x20\x7f-\xa0]")


class RepositoryUrl(NamedTuple):
    """The URL of a repository: as git gets it, without credentials, and the last part of it."""

    text: str
    public: str
    name: str
    scheme: str


def parse_repository_url(text: str) -> RepositoryUrl | None:
    """Return the URL of a repository, None for a path of this machine.

    Raises `InvalidInput` (`bad_url`) for a URL that is not adopted from.
    """
    scp = _SCP_FORM.fullmatch(text)
    if scp is not None and not os.path.lexists(text):
        return _checked_url(text, text, scp["path"], "ssh", scp["host"].rpartition("@")[2])
    if not _ANY_SCHEME.match(text):
        return None
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", f":{parts.port}" if parts.port else ""
    except ValueError as error:
        raise _bad_url_error(text, str(error)) from error
    user = f"{parts.username}@" if parts.username and parts.scheme == "ssh" else ""
    shown_host = f"[{host}]" if ":" in host else host
    public = urlunsplit((parts.scheme, f"{user}{shown_host}{port}", parts.path, "", ""))
    return _checked_url(text, public, parts.path, parts.scheme, host)


def bare_repository_url(path: Path) -> RepositoryUrl | None:
    """Return the URL of a bare repository of this machine, None for another folder."""
    is_bare = (path / "HEAD").is_file() and (path / "objects").is_dir() and (path / "refs").is_dir()
    return parse_repository_url(path.absolute().as_uri()) if is_bare else None


def _checked_url(text: str, public: str, path: str, scheme: str, host: str) -> RepositoryUrl:
    if scheme not in _TRANSPORTS:
        raise _bad_url_error(public, "the scheme is none of https, ssh and file")
    if scheme == "http" and host not in _LOOPBACK_HOSTS:
        raise _bad_url_error(public, "http is not protected; use https")
    if _CONTROLS.search(text) or host.startswith("-") or path.startswith("-"):
        raise _bad_url_error(public, "it has characters that a URL does not have")
    if not path.strip("/") or (scheme != "file" and not host):
        raise _bad_url_error(public, "it names no repository")
    name = path.rstrip("/").rpartition("/")[2].removesuffix(".git")
    if name.strip(".") == "":
        raise _bad_url_error(public, "it names no repository")
    return RepositoryUrl(text, public, name, scheme)


def _bad_url_error(text: str, reason: str) -> InvalidInput:
    return InvalidInput(
        f"cannot adopt from {text}: {reason}",
        code="bad_url",
        hint="give a URL such as https://example.org/owner/skills or a folder",
    )


@contextmanager
def clone_repository(url: RepositoryUrl) -> Iterator[Path]:
    """Clone the newest commit of the default branch; yield its folder until the block ends.

    Raises `InvalidInput` (`no_git`, `clone_failed`, `no_commit`, `too_many`, `too_large`,
    `git_hangs`).
    """
    program = shutil.which("git")
    if program is None:
        raise InvalidInput(
            "adopting from a URL needs git, which is not installed",
            code="no_git",
            hint="install git, or adopt a folder",
        )
    with tempfile.TemporaryDirectory(prefix="brain-clone-") as temporary:
        folder = Path(temporary) / url.name
        _run_git(_clone_command(program, url, folder), url, folder, _clone_environment())
        _check_out(program, url, folder)
        yield folder


def _clone_command(program: str, url: RepositoryUrl, folder: Path) -> list[str]:
    allowed = (f"protocol.{name}.allow=always" for name in _TRANSPORTS[url.scheme])
    settings = (
        *("protocol.allow=never", *allowed),
        *(f"core.hooksPath={os.devnull}", "core.fsmonitor=false", "gc.auto=0"),
        *("transfer.bundleURI=false", "submodule.recurse=false"),
        *("http.lowSpeedLimit=1000", f"http.lowSpeedTime={_STALLED_SECONDS}"),
    )
    options = ("--quiet", "--no-checkout", "--single-branch", "--no-tags", "--template=")
    depth = () if url.scheme == "http" else ("--depth=1",)  # files over http cannot be shallow
    configured = (word for setting in settings for word in ("-c", setting))
    return [
        *(program, *configured, "clone", *options, *depth, "--no-local"),
        *("--", url.text, str(folder)),
    ]


_AS_COMMITTED = "* -text -eol -ident -filter !working-tree-encoding\n"
"""Attributes that come before those of the repository: no file is converted."""


def _check_out(program: str, url: RepositoryUrl, folder: Path) -> None:
    """Write the files of the newest commit, after their number and bytes are known."""
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_NO_LAZY_FETCH": "1",
        "LC_ALL": "C",
    }
    git = (program, "-C", str(folder), "-c", f"core.hooksPath={os.devnull}")
    newest = (*git, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    found = subprocess.run(newest, env=environment, stdout=subprocess.DEVNULL, check=False)
    if found.returncode:
        raise InvalidInput(
            f"{url.public} has no commit",
            code="no_commit",
            hint="commit something first; if there are commits, check it with `git fsck`",
        )
    _refuse_too_many((*git, "ls-tree", "-r", "-l", "-z", "HEAD"), environment)
    attributes = folder / ".git" / "info" / "attributes"
    attributes.parent.mkdir(exist_ok=True)
    attributes.write_text(_AS_COMMITTED)
    _run_git([*git, "checkout", "--quiet", "--force", "HEAD", "--"], url, folder, environment)


def _refuse_too_many(command: Sequence[str], environment: Mapping[str, str]) -> None:
    """Count what git lists, and stop as soon as it is too much."""
    files, size, rest = 0, 0, b""
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        while size <= MAX_FILE_BYTES and files <= MAX_FILES:
            piece = process.stdout.read(1 << 16)
            if not piece:
                break
            *lines, rest = (rest + piece).split(b"\0")
            files += len(lines)
            sizes = (line.split(None, 4)[3] for line in lines)
            size += sum(int(text) for text in sizes if text.isdigit())  # a submodule has none
        process.kill()
    if size > MAX_FILE_BYTES or files > MAX_FILES:
        raise InvalidInput(
            f"the newest commit has more than {MAX_FILES} files or {MAX_FILE_BYTES >> 30} GiB",
            code="too_many",
            hint="adopt a smaller repository",
        )


def _clone_environment() -> dict[str, str]:
    environment = {
        **{name: value for name, value in os.environ.items() if not _names_a_repository(name)},
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "LC_ALL": "C",
    }
    environment.setdefault("GIT_SSH_COMMAND", "ssh -o BatchMode=yes")
    return environment


def _run_git(
    command: list[str], url: RepositoryUrl, folder: Path, environment: Mapping[str, str]
) -> None:
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env=environment,
            cwd="/",
            start_new_session=True,
        )
        try:
            _wait_and_check_size(process, url, folder)
        finally:
            if process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # git has helpers for the transports
                process.wait()
        if process.returncode:
            errors.seek(0)
            raise _clone_failed_error(url, errors.read(_MAX_ERROR_BYTES).decode("utf-8", "replace"))


def _names_a_repository(variable: str) -> bool:
    """Tell whether a variable would lead git to another repository, or let it run a program."""
    return variable.startswith("GIT_") and variable not in (
        *("GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_ASKPASS"),
        *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH"),
    )


def _wait_and_check_size(
    process: subprocess.Popen[bytes], url: RepositoryUrl, folder: Path
) -> None:
    end = time.monotonic() + MAX_CLONE_SECONDS
    while True:
        with suppress(subprocess.TimeoutExpired):
            process.wait(_POLL_SECONDS)
        if _objects_size(folder) > MAX_CLONE_BYTES:
            raise InvalidInput(
                f"{url.public} has more than {MAX_CLONE_BYTES >> 20} MiB",
                code="too_large",
                hint="clone it yourself, as by `git clone --depth 1`, and adopt the clone",
            )
        if process.poll() is not None:
            return
        if time.monotonic() > end:
            raise InvalidInput(
                f"git cloned {url.public} for {MAX_CLONE_SECONDS:g} seconds",
                code="git_hangs",
                hint="clone it yourself, and adopt the clone",
            )


def _objects_size(folder: Path) -> int:
    """Return the bytes of the packs of a clone, and of what git is receiving."""
    size = 0
    for place in (folder / ".git/objects", folder / ".git/objects/pack"):
        try:
            with os.scandir(place) as entries:
                size += sum(entry.stat(follow_symlinks=False).st_size for entry in entries)
        except OSError:  # git makes and renames files meanwhile; the next look sees them
            continue
    return size


_TELLING_PREFIXES = ("fatal:", "ssh:", "git@")
"""How the lines begin that tell why git failed; the first of them is the most precise."""


def _clone_failed_error(url: RepositoryUrl, output: str) -> InvalidInput:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    reasons = [line for line in lines if line.startswith(_TELLING_PREFIXES)] or lines[-1:]
    reason = (reasons or ["git failed"])[0].removeprefix("fatal: ").replace(url.text, url.public)
    return InvalidInput(
        f"git cannot clone {url.public}: {printable_text(reason, 300)}",
        code="clone_failed",
        hint="check with `git ls-remote URL` that git reaches it without asking for a password",
    )
