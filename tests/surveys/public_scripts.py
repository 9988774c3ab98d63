"""Count which scripts of public skills could run: `python -m tests.surveys.public_scripts FOLDER`.

FOLDER holds checkouts of collections of skills, such as github `anthropics/skills`. Each script of
Python or bash in the folder of a skill is made a tool with the files of the skill beside it, and
started with --help in the sandbox, with the needs that a person would have to approve: files and
folders, hosts, commands. Prints a line of JSON a script: `could` tells whether its own code ran to
an answer, with all that it imports and starts there; `alone` whether it needs nothing. The last
line counts both. With `--least N`, status 1 if less than N percent could run.
"""

import argparse
import ast
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from brain.errors import BrainError
from brain.programs.needs import pin_resources
from brain.programs.program import Program
from brain.running.run import run_program
from brain.sandbox.find_sandbox import find_sandbox
from brain.sandbox.job import Sandbox, SandboxLimits

START = """
import os, runpy, subprocess, sys
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), {path!r})
os.chdir("/tmp")
if path.endswith(".sh"):
    sys.exit(subprocess.run(["bash", "-n", path]).returncode or print("parses"))
sys.path.insert(0, os.path.dirname(path))
sys.argv = [path, "--help"]
runpy.run_path(path, run_name="__main__")
print("ended")
"""
MOST_FILES, MOST_BYTES = 200, 3 << 20
WEB = frozenset(("urllib", "http", "requests", "httpx", "aiohttp", "socket", "ssl", "smtplib"))
COMMANDS = frozenset(("subprocess", "pty", "multiprocessing"))
FILES = re.compile(r"\bopen\(|\bPath\(|pathlib|argparse|os\.(?:walk|listdir|path)|sqlite3|shutil")
OWN_PROGRAMS = re.compile(
    r"^\s*(?:sudo |exec )?(curl|wget|npm|npx|pnpm|bun|node|docker|brew|apt|apt-get|pip|pip3|gh|uv|"
    r"claude|codex|go|cargo|make|osascript|open|ssh|rsync|git)\b",
    re.MULTILINE,
)
FAILED = re.compile(r"ModuleNotFoundError|ImportError|No module named|PermissionError|it was ended")


def list_scripts(folder: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the folder of each skill with each of its scripts that is no test."""
    for text in sorted(folder.rglob("SKILL.md")):
        inner = {one.parent for one in text.parent.rglob("SKILL.md")} - {text.parent}
        for path in sorted([*text.parent.rglob("*.py"), *text.parent.rglob("*.sh")]):
            is_other = path.name.startswith(("__init__", "test_", "conftest")) or path.is_symlink()
            if not is_other and not inner.intersection(path.parents) and "tests" not in path.parts:
                yield text.parent, path


def find_needs(path: Path, code: str) -> tuple[set[str], str]:
    """Return what a script needs, and why it cannot be had, "" if it can."""
    if path.suffix == ".sh":
        outside = sorted(set(OWN_PROGRAMS.findall(code)) - {"git"})
        return {"commands", "files"}, f"it starts {outside[0]}" if outside else ""
    imported = {
        name.partition(".")[0]
        for node in ast.walk(ast.parse(code))
        for name in (
            [one.name for one in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom) and not node.level
            else []
        )
    }
    needs = {"hosts"} if imported & WEB else set[str]()
    needs |= {"commands"} if imported & COMMANDS or "os.system" in code else set()
    needs |= {"files"} if FILES.search(code) else set()
    lacking = imported & WEB - {"urllib", "ssl"}
    return needs, f"it asks hosts by {min(lacking)}" if lacking else ""


def survey(sandbox: Sandbox, skill: Path, path: Path) -> dict[str, Any]:
    """Return what became of one script."""
    row = {"script": str(path.relative_to(skill)), "skill": skill.name, "could": False}
    try:
        needs, lacking = find_needs(path, path.read_text("utf-8"))
    except (SyntaxError, UnicodeDecodeError, ValueError) as error:
        return {**row, "needs": [], "alone": False, "why": type(error).__name__}
    inner = path.relative_to(skill).as_posix()
    files = [one for one in sorted(skill.rglob("*")) if one.is_file() and not one.is_symlink()]
    named = {one.relative_to(skill).as_posix(): one for one in files if one.suffix != ".md"}
    plain = [
        name for name in named if re.fullmatch(r"(?!tests/)[A-Za-z0-9_][A-Za-z0-9_./-]*", name)
    ]
    kept = {name: named[name].read_bytes() for name in plain[:MOST_FILES] if "/." not in name}
    kept[inner] = path.read_bytes()
    if sum(map(len, kept.values())) > MOST_BYTES:
        kept = {name: data for name, data in kept.items() if name.endswith((".py", ".sh"))}
    kept = {name: data for name, data in kept.items() if name not in ("skill.py", "schema.json")}
    wanted: dict[str, Any] = {"commands": ["bash"]}
    code = {"skill.py": START.format(path=inner).encode()}
    code["tests/needs.json"] = json.dumps(wanted).encode()
    try:
        program = Program(slug="x", files=pin_resources(code, kept), resources=kept)
        outcome = run_program(sandbox, program, {}, limits=SandboxLimits(wall_seconds=10))
    except BrainError as error:
        return {**row, "needs": sorted(needs), "alone": False, "why": error.message}
    said = outcome.error or str(outcome.output)
    ran = outcome.ok or outcome.refused or (outcome.raised and not FAILED.search(said))
    why = lacking or ("" if ran else said)
    could = not why
    return {**row, "could": could, "alone": could and not needs, "needs": sorted(needs), "why": why}


def main(arguments: list[str]) -> int:
    """Survey the collections in a folder; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--least", type=float, default=0, help="percent that must be able to run")
    given = parser.parse_args(arguments)
    sandbox, counts = find_sandbox(), Counter[str]()
    for skill, path in list_scripts(given.folder):
        row = survey(sandbox, skill, path)
        counts.update({"scripts": 1, "could": row["could"], "alone": row["alone"]})
        print(json.dumps(row), flush=True)
    scripts = max(counts["scripts"], 1)
    shares = {name: round(100 * counts[name] / scripts, 1) for name in ("alone", "could")}
    print(json.dumps({**counts, "percent": shares}))
    return 1 if shares["could"] < given.least else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
