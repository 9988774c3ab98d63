"""Provide what an image needs of this machine: a Python of its version, and its wheels.

Both are got before anything of a task runs, into a cache folder of the user. Wheels alone are
installed, so nothing of a package runs outside the sandbox. Inside, where there is no network,
stand-ins take the place of installers: what they would install is there already, or cannot be had.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from ..digest import blob_id
from ..errors import BrainError, NotFound
from ..repo.derived_db import CACHE_DIR_VARIABLE, cache_root
from ..sandbox.bubblewrap import SYSTEM_PYTHON
from ..sandbox.hidden_paths import is_public
from ..tasks.images import PATH, Image

PYTHON_PLACE, WHEELS_PLACE, STAND_INS_PLACE = "/opt/python", "/opt/venv", "/opt/stand-ins"
_INSTALL_SECONDS = 900
_ASK_SECONDS = 10
_VERSIONS = re.compile(r"\s*[=<>!~].*")
_LEFT_OUT = ("test", "tests", "idle_test", "site-packages", "config-*", "*.a")

_NOTHING = "#!/bin/sh\n# What this would install was installed beforehand, or cannot be had here.\n"
_SKIP_OPTIONS = """\
while [ $# -gt 0 ]; do
  case "$1" in
    -p|--python|-w|--with|--from|--with-requirements) shift 2;;
    --index|--index-url|--extra-index-url) shift 2;;
    --project|--directory|--refresh-package) shift 2;;
    -*) shift;;
    *) break;;
  esac
done
"""
_UVX = f"""#!/bin/sh
{_SKIP_OPTIONS}name="${{1%%[@=]*}}"; shift
exec "$name" "$@"
"""
_UV = f"""#!/bin/sh
case "$1" in
  run) shift
    {_SKIP_OPTIONS}
    case "$1" in *.py) exec python3 "$@";; esac
    exec "$@";;
  tool) shift; [ "$1" = run ] && shift; exec uvx "$@";;
  venv) shift
    folder=.venv; for one; do case "$one" in -*|[0-9]*) ;; *) folder="$one";; esac; done
    mkdir -p "$folder/bin"; echo : > "$folder/bin/activate"
    for one in {STAND_INS_PLACE}/* {WHEELS_PLACE}/bin/*; do ln -sf "$one" "$folder/bin/"; done;;
esac
"""
_CURL = """#!/bin/sh
case "$*" in *astral.sh*|*/uv/*install*) exit 0;; esac
for one in /usr/bin/curl /bin/curl; do [ -x "$one" ] && exec "$one" --max-time 5 "$@"; done
exit 6
"""
_SUDO = """#!/bin/sh
while [ $# -gt 0 ]; do
  case "$1" in
    -u|-g) shift 2;;
    -*) shift;;
    *=*) export "$1"; shift;;
    *) break;;
  esac
done
exec "$@"
"""
_SETTINGS = {"DEBIAN_FRONTEND": "noninteractive", "PIP_NO_INDEX": "1", "PIP_RETRIES": "0"}
"""A real pip, of an environment that a step makes, does not wait for a network."""
_PIP_MODULE = '"""Stands in for pip: what it would install was installed beforehand."""\n'
STAND_INS = {
    **dict.fromkeys(("apt", "apt-get", "apt-key", "add-apt-repository", "pip", "pip3"), _NOTHING),
    "uv": _UV,
    "uvx": _UVX,
    "curl": _CURL,
    "sudo": _SUDO,
}
"""Name to the text of a program that stands in front of the one of the machine."""


def provide(image: Image, notes: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Get the Python and the wheels of an image; what was got before is taken from the cache.

    Returns folders of this machine by their place inside, and the environment of a session, and
    adds to `notes`. Raises `NotFound` (`no_python`) and `BrainError` (`no_wheels`, `no_access`).
    """
    folders: dict[str, str] = {}
    path = image.environment.get("PATH", PATH)
    if "/root/.local/bin" not in path:
        path += ":/root/.local/bin"
    environment = {"PATH": f"{STAND_INS_PLACE}:{path}", **_SETTINGS}
    python = _choose_python(image, notes) if image.python or image.requirements else SYSTEM_PYTHON
    home = Path(python).parent
    is_system = home.is_relative_to("/usr/bin")
    if is_system and not image.requirements and not image.is_python_exact:
        return folders, environment
    if not is_system:
        home, folders[PYTHON_PLACE] = Path(f"{PYTHON_PLACE}/bin"), _public_python(home.parent)
        environment["LD_LIBRARY_PATH"] = f"{PYTHON_PLACE}/lib"
    folders[WHEELS_PLACE] = _install(python, str(home), image.requirements, notes)
    environment["PATH"] = f"{STAND_INS_PLACE}:{WHEELS_PLACE}/bin:{path}"
    environment["VIRTUAL_ENV"] = WHEELS_PLACE
    return folders, environment


def _choose_python(image: Image, notes: list[str]) -> str:
    if image.python and (found := _find_python(image.python)):
        return found
    if image.is_python_exact:
        raise NotFound(
            f"it needs Python {image.python}, which is not on this machine",
            code="no_python",
            hint=f"install it, as with `uv python install {image.python}`",
        )
    if image.python:
        notes.append(f"runs with another Python than its image has, {image.python}")
    return os.path.realpath(SYSTEM_PYTHON)


def _find_python(version: str) -> str | None:
    home = os.path.expanduser("~")
    places = [f"/usr/bin/python{version}", f"/usr/local/bin/python{version}", SYSTEM_PYTHON]
    for folder in (f"{home}/.pyenv/versions", f"{home}/.local/share/uv/python"):
        found = map(str, Path(folder).glob(f"*{version}.*/bin/python{version}"))
        places += sorted(found, reverse=True)
    places += filter(None, [shutil.which(f"python{version}")])
    code = "import os, sys; print(os.path.realpath(sys.executable), sys.version_info[:2])"
    for place in filter(os.path.exists, places):
        try:
            done = subprocess.run(
                [place, "-I", "-S", "-c", code],
                capture_output=True,
                check=False,
                text=True,
                timeout=_ASK_SECONDS,
                env={},
            )
        except (OSError, subprocess.SubprocessError):
            continue
        real, _, said = done.stdout.strip().partition(" ")
        if said == f"({version.replace('.', ', ')})":
            return real
    return None


def _public_python(prefix: Path) -> str:
    """Return the folder of an installation that a sandbox can read; a copy if need be."""
    if os.geteuid() != 0 or is_public(str(prefix / "bin")):
        return str(prefix)

    def fill(target: Path) -> None:
        ignore = shutil.ignore_patterns(*_LEFT_OUT)
        for name in ("bin", "lib", "include"):
            shutil.copytree(prefix / name, target / name, symlinks=True, ignore=ignore)

    return _make_once(_cache_folder() / f"python-{prefix.name}", fill)


def _install(python: str, home: str, requirements: Sequence[str], notes: list[str]) -> str:
    """Return a folder with a virtual environment of these packages, made at the first call."""
    version = Path(python).name.removeprefix("python")
    wanted = sorted(requirements)
    key = blob_id("\0".join([python, home, *wanted]).encode()).hex()[:32]
    folder = _cache_folder() / f"wheels-{key}"
    relaxed = folder / "relaxed"

    def fill(target: Path) -> None:
        site = target / "lib" / f"python{version}" / "site-packages"
        site.mkdir(parents=True)
        if wanted and (fault := _run_installer(python, site, wanted)):
            loose = [one if one.startswith("pytest") else _VERSIONS.sub("", one) for one in wanted]
            shutil.rmtree(site)
            if loose == wanted or _run_installer(python, site, loose):
                raise BrainError(
                    f"its packages cannot be installed from wheels: {fault}",
                    code="no_wheels",
                    hint="see whether this machine reaches its package index, and has a Python"
                    " that the packages have wheels for",
                )
            (target / "relaxed").touch()
        _make_environment(target, site, home, version)

    place = _make_once(folder, fill)
    if relaxed.exists():
        notes.append("some packages are not of the wanted versions, which have no wheels here")
    return place


def _run_installer(python: str, site: Path, wanted: Sequence[str]) -> str:
    """Install wheels into a folder; return why it failed, "" if it did not."""
    uv = shutil.which("uv")
    command = [uv, "pip", "install", "--python", python] if uv else [python, "-m", "pip", "install"]
    command += ["--quiet", "--target", str(site), "--only-binary", ":all:", "--", *wanted]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            check=False,
            text=True,
            errors="replace",
            timeout=_INSTALL_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return f"the installer took more than {_INSTALL_SECONDS} s"
    except OSError as error:
        return str(error)
    return "" if done.returncode == 0 else " ".join(done.stderr.split())[-400:] or "it failed"


def _make_environment(target: Path, site: Path, home: str, version: str) -> None:
    """Make a virtual environment for its place inside, of packages that are in `site`."""
    programs = target / "bin"
    if (site / "bin").is_dir():
        (site / "bin").rename(programs)
    programs.mkdir(exist_ok=True)
    for program in programs.iterdir():
        data = program.read_bytes()
        first, _, rest = data.partition(b"\n")
        if data.startswith(b"#!/bin/sh\n'''exec'"):  # the path was too long for a first line
            rest = rest.partition(b"\n' '''\n")[2]
        if first.startswith(b"#!") and (b"python" in first or b"'''exec" in data[:20]):
            program.write_bytes(f"#!{WHEELS_PLACE}/bin/python\n".encode() + rest)
        program.chmod(0o755)
    for name in ("python", "python3", f"python{version}"):
        (programs / name).unlink(missing_ok=True)
        (programs / name).symlink_to(f"{home}/python{version}")
    (target / "pyvenv.cfg").write_text(f"home = {home}\nversion = {version}\n")
    if not (site / "pip").exists():
        (site / "pip").mkdir()
        (site / "pip" / "__init__.py").write_text(_PIP_MODULE)
        (site / "pip" / "__main__.py").write_text(_PIP_MODULE)


def _cache_folder() -> Path:
    """Return the cache folder of tasks; that of root must be one that others can enter."""
    root = cache_root()
    if os.geteuid() == 0 and CACHE_DIR_VARIABLE not in os.environ:
        root = "/var/cache/brain"
    folder = Path(root, "tasks")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _make_once(folder: Path, fill: Callable[[Path], None]) -> str:
    """Return `folder`, which is filled beside its place and then renamed, unless it is there."""
    if folder.is_dir():
        return str(folder)
    target = Path(tempfile.mkdtemp(prefix="part-", dir=folder.parent))
    try:
        fill(target)
        target.chmod(0o755)
        try:
            target.rename(folder)
        except OSError:  # another process was faster
            if not folder.is_dir():
                raise
    finally:
        shutil.rmtree(target, ignore_errors=True)
    return str(folder)
