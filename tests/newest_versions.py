"""Try the newest versions that pyproject.toml allows: `python -m tests.newest_versions FOLDER`.

Installs the project in an environment of its own in FOLDER, as a user would, with what the tests
need. Where that brings other versions than the lock has, it runs a few tests and linters and
prints a warning that names the package with which they fail. Part of `.ci/run`, which a release
of somebody else must not turn red: the exit status is 0 in any case.
"""

import argparse
import re
import subprocess
import sys
import time
import venv
from pathlib import Path

PROJECT = Path(__file__).parents[1]
CHECKS = (
    "pytest -q --numprocesses 2 --dist loadfile tests/property tests/conformance/test_vectors.py"
    " tests/conformance/test_experience.py tests/unit/evolve/test_endpoint.py tests/unit/trust"
    " tests/chain/test_registry.py tests/cli/test_start_up.py tests/serving/test_server.py",
    "ruff check -q .",
    "mypy",
)
"""Between them these use every package that is locked."""


def locked_versions() -> dict[str, set[str]]:
    """Return the versions of the lock by package; one may have a version for each Python."""
    versions: dict[str, set[str]] = {}
    for path in (PROJECT / "requirements").glob("*.txt"):
        for name, version in re.findall(r"^([\w.-]+)==([^ ;]+)", path.read_text("utf-8"), re.M):
            versions.setdefault(_normal(name), set()).add(version)
    return versions


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


class Environment:
    """A virtual environment, and the time by which what runs there is stopped."""

    def __init__(self, folder: Path, seconds: float) -> None:
        venv.create(folder, with_pip=True)
        self._python = folder / "bin" / "python"
        self._end = time.monotonic() + seconds

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run `python -m WORDS` in the project; raises `TimeoutExpired` when the time is up."""
        return subprocess.run(
            [self._python, "-m", *words], cwd=PROJECT, capture_output=True, text=True, check=False,
            stdin=subprocess.DEVNULL, timeout=max(self._end - time.monotonic(), 1),
        )  # fmt: skip

    def install(self, *words: str) -> None:
        """Run `pip install WORDS`; raises `RuntimeError` with what pip says."""
        done = self.run("pip", "--disable-pip-version-check", "install", "--quiet", *words)
        if done.returncode:
            raise RuntimeError(f"pip could not install {' '.join(words)}:\n{done.stderr}")

    def versions(self) -> dict[str, str]:
        """Return the version of each package that is installed."""
        lines = self.run("pip", "list", "--format", "freeze", "--exclude", "pip").stdout.split()
        return {_normal(line.partition("==")[0]): line.partition("==")[2] for line in lines}


def try_newest(environment: Environment) -> str:
    """Return what to say: a warning, or that the newest versions do."""
    environment.install("--editable", ".[test]")
    locked, newest = locked_versions(), environment.versions()
    other = {
        name: version
        for name, version in newest.items()
        if name in locked and version not in locked[name]
    }
    if not other:
        return "the lock has the newest allowed versions"
    named = ", ".join(f"{name} {version}" for name, version in other.items())
    for check in CHECKS:
        done = environment.run(*check.split())
        if not done.returncode:
            continue
        told = "\n".join(done.stdout.splitlines()[-15:])
        again = f"{check} --last-failed" if check.startswith("pytest") else check
        for name, version in other.items():
            environment.install("--no-deps", f"{name}=={max(locked[name])}")
            if not environment.run(*again.split()).returncode:
                return f"warning: with {name} {version} this fails: {check}\n{told}"
            environment.install("--no-deps", f"{name}=={version}")
        return f"warning: with one of {named} this fails: {check}\n{told}"
    return f"the tests pass with {named}, newer than the lock: `make lock` raises it"


def main() -> int:
    """Print a line or a warning; return 0."""
    parser = argparse.ArgumentParser(prog="python -m tests.newest_versions", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=300.0)
    options = parser.parse_args()
    try:
        told = try_newest(Environment(options.folder, options.seconds))
    except subprocess.TimeoutExpired:
        told = f"warning: the newest versions were not tried to the end in {options.seconds:.0f} s"
    except RuntimeError as error:
        told = f"warning: {error}"
    sys.stdout.write(f"{told}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
