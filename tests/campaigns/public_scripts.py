"""Starts each script of public collections of skills, inside and outside of the sandbox.

    python -m tests.campaigns.public_scripts FOLDER …

Takes every `scripts/*.py` that imports the standard library only, checks it as a script that a
person wrote, and runs it with `--help` in the sandbox and outside of it, there as a user without
rights if this is root. Prints each script that is refused, or that ends with another status inside,
and the share of those that do not. Ends with status 1 if fewer than 98 % do.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from brain.programs.code_check import check_code
from brain.sandbox.find_sandbox import find_sandbox
from brain.sandbox.interpreter import choose_interpreter
from brain.sandbox.sandbox_protocol import Sandbox, SandboxJob, SandboxLimits

_WANTED_SHARE = 0.98
_LIMITS = SandboxLimits(wall_seconds=60.0)
_THREADS = 3
_NOBODY = 65_534


class Finding(NamedTuple):
    """What became of a script: "" for `fault` if it starts inside as it does outside."""

    path: Path
    kind: str
    fault: str = ""


def scripts(folder: Path) -> Iterator[Path]:
    """Yield the scripts of a collection, each content once."""
    seen = set()
    for path in sorted(folder.rglob("scripts/*.py")):
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
            if content not in seen:
                seen.add(content)
                yield path


def imports_of(code: bytes) -> set[str]:
    """Return the modules that code imports, by their first name; "." for relative ones.

    Raises `SyntaxError` or `ValueError` if it is not Python.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        tree = ast.parse(code)
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add("." if node.level else (node.module or "").partition(".")[0])
    return found


def examine(sandbox: Sandbox, path: Path) -> Finding:
    """Check and start one script."""
    code = path.read_bytes()
    try:
        others = imports_of(code) - sys.stdlib_module_names
    except (SyntaxError, ValueError) as error:
        return Finding(path, "not Python 3", str(error))
    if others:
        return Finding(path, "imports other modules", ", ".join(sorted(others)))
    refusals = check_code(code, "script")
    if refusals:
        return Finding(path, "refused", "; ".join(refusals))
    name = f"/job/{path.name}"
    job = SandboxJob(arguments=(name, "--help"), files={name: code}, limits=_LIMITS)
    outcome = sandbox.run(job)
    inside = outcome.status if outcome.ended_by == "exit" else outcome.ended_by
    outside, errors = start_outside(code, path.name)
    if inside == outside:
        return Finding(path, "starts as outside")
    said = outcome.stderr.decode(errors="replace").strip().rpartition("\n")[2]
    return Finding(path, "starts otherwise", f"{inside} ({said}), outside {outside} ({errors})")


def start_outside(code: bytes, name: str) -> tuple[int | str, str]:
    """Run a script with --help in an empty folder; return its status and its last error line."""
    change_user = ["setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups"]
    python = choose_interpreter(for_other_user=os.geteuid() == 0).path
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o777)
        Path(folder, name).write_bytes(code)
        command = [python, "-I", "-B", f"{folder}/{name}", "--help"]
        try:
            done = subprocess.run(
                [*(change_user if os.geteuid() == 0 else []), *command],
                cwd=folder,
                env={"HOME": folder, "LC_CTYPE": "C.UTF-8"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=_LIMITS.wall_seconds,
            )
        except subprocess.TimeoutExpired:
            return "wall_time", ""
    return done.returncode, done.stderr.decode(errors="replace").strip().rpartition("\n")[2]


def main(*folders: str) -> int:
    """Examine the scripts of the folders that the command line names."""
    sandbox = find_sandbox()
    counts: Counter[str] = Counter()
    with ThreadPoolExecutor(_THREADS) as pool:
        for folder in map(Path, folders):
            own: Counter[str] = Counter()
            for finding in pool.map(lambda path: examine(sandbox, path), scripts(folder)):
                own[finding.kind] += 1
                if finding.kind in ("refused", "starts otherwise"):
                    print(f"{finding.path}: {finding.kind}: {finding.fault}")
            print(f"{folder.name}: {dict(sorted(own.items()))}")
            counts += own
    good, bad = counts["starts as outside"], counts["refused"] + counts["starts otherwise"]
    for name, count in sorted(counts.items()):
        print(f"{count:6}  {name}")
    share = good / max(good + bad, 1)
    print(f"{100 * share:.2f} % of {good + bad} scripts of the standard library alone start")
    return 0 if share >= _WANTED_SHARE else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
