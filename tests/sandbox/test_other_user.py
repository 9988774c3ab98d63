"""The same tests for a user other than root, from a copy that this user can read."""

import os
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

from brain.sandbox.bubblewrap import choose_interpreter

NOBODY = 65534
MODULES = ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "py", "pyseccomp")
SUITE = Path(__file__).parent


def copy_module(name: str, target: Path) -> None:
    spec = find_spec(name)
    assert spec is not None and spec.origin is not None
    source = Path(spec.origin)
    if source.name == "__init__.py":
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source.parent, target / name, ignore=ignored)
    else:
        shutil.copy(source, target)


if os.geteuid() == 0:  # else these tests run for another user already

    def test_a_user_other_than_root_has_the_same_sandbox(sandbox):
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            for name in (*MODULES, "brain"):
                copy_module(name, Path(folder))
            tests = Path(folder, "tests", SUITE.name)
            shutil.copytree(SUITE, tests, ignore=shutil.ignore_patterns("__pycache__", "escapes"))
            for part in ("support/cases.py", "support/refusals.py", "cases/sandbox"):
                copy = Path(folder, "tests", part)
                copy.parent.mkdir(exist_ok=True)
                source = SUITE.parent / part
                (shutil.copytree if source.is_dir() else shutil.copy)(source, copy)
            subprocess.run(["chmod", "-R", "a+rX", folder], check=True)
            done = subprocess.run(
                [
                    *("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"),
                    *("--inh-caps=-all", "--bounding-set=-all", "--"),
                    *(choose_interpreter(for_other_user=True).path, "-B", "-m", "pytest", "-q"),
                    *("-p", "no:cacheprovider", "-c", "/dev/null", f"--rootdir={folder}"),
                    *(f"--confcutdir={tests}", str(tests)),
                ],
                check=False,
                cwd=folder,
                env={"PYTHONPATH": folder, "PATH": "/usr/bin:/bin", "CI": "1"},
                capture_output=True,
                text=True,
            )
        assert done.returncode == 0, done.stdout + done.stderr
        # The one that is skipped is about users of sandboxes, which only root has.
        assert " passed, 1 skipped in " in done.stdout
