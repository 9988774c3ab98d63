"""What is derived lies in the user's cache: no command leaves any of it in the brain."""

import os
import re
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from brain_cli.schemas import COMMANDS

from brain import Brain

FILES = {".gitignore", "store.db", "store.db-wal", "store.db-shm", "lock", "mark"}
TABLES = {"objects", "blobs", "dictionaries", "facts", "operations", "pending", "signatures"}
TABLES |= {"redactions"}
FACTS = {"", "operations", "redactions", "traces", "epoch"}
"""All facts that are neither a ref nor a setting."""

SESSION = """
init
snapshot -m First
status
key new
key list
key trust default --as Ada
skill upsert oracle-manipulation -d Better
skill upsert reentrancy -d Better
skill upsert extra -d More
skill list
skill view reentrancy
log oracle-manipulation
restore oracle-manipulation@1
skill check reentrancy
skill rename extra extras
skill merge reentrancy extras
skill delete oracle-manipulation
undo
redo
undo
index
index --task reentrancy
prompt
prompt --task reentrancy
log
log reentrancy
show
diff @~1 @
blame reentrancy
grep reentrancy
tag first @~3
log --patch first..@ -- skills
restore @~1 skills
log --ops
branch idea
switch idea
skill upsert only-idea -d Idea
switch main
skill upsert only-main -d Main
merge idea
resolve
proposal list
fork ../child
prove skills/reentrancy/SKILL.md -o ../proof.json
verify ../proof.json
sign
show --run
verify @
why reentrancy
memory add Remember
memory show
memory remove 1
secrets
config
chain commit
chain status
publish ../published --to agentskills
adopt ../home
tools list
tools call skills_list {}
redact memory/notes.md --reason x --yes
sign --all
gc --grace 0
doctor
verify
verify --deep --ledger local
completion bash
"""
"""One call a line, in this order, of what there is to do with a brain."""

ELSEWHERE = {
    "chain": "they go to a ledger, of which `commit` and `status` stand for all",
    "config": "they change the settings of the user",
    "demo": "it makes a brain of its own, by the commands above",
    "evolve": "it asks a model, and records what it says as an upsert does",
    "key": "they change the trust file or the keys of the user, as `trust` does",
    "mcp": "it serves the tools, as `tools call` does",
    "proposal": "they record what an agent proposes, as a merge does",
    "skill run": "it runs a program in the sandbox, and counts the run in usage.db",
    "watch": "it records what changes, as `snapshot` does, until it is stopped",
}
"""Commands, and groups of them, that are not all in the session, and why."""


@pytest.fixture
def home(tmp_path):
    """A folder with a skill to adopt."""
    file = tmp_path / "home/skills/adopted/SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text("---\nname: adopted\ndescription: From elsewhere\n---\nDo.\n")
    return tmp_path / "home"


def left(root: Path) -> list[str]:
    """Return what is in the brain and has no place there."""
    found = [name for name in os.listdir(root / ".brain") if name not in FILES]
    with closing(apsw.Connection(str(root / ".brain/store.db"))) as db:
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_schema")]
        facts = [name for (name,) in db.execute("SELECT name FROM facts")]
    found += [name for name in names if name not in TABLES and not name.startswith("sqlite_auto")]
    found += [name for name in facts if name not in FACTS and not re.match("ref:|meta:", name)]
    return found


def test_no_command_leaves_anything_derived_in_the_brain(folder, home, cli, tmp_path, monkeypatch):
    monkeypatch.setenv("BRAIN_CACHE_DIR", str(tmp_path / "caches"))
    for name, text in (("oracle-manipulation", "Oracles"), ("reentrancy", "Again")):
        file = folder / "skills" / name / "SKILL.md"
        file.parent.mkdir(parents=True)
        file.write_text(f"---\nname: {name}\ndescription: About {text}\n---\n{text}.\n")
    (folder / "memory").mkdir()
    (folder / "memory/notes.md").write_text("one\ntwo\n")
    failed = []
    for line in SESSION.strip().splitlines():
        told = cli("--author", "ada", *line.split())
        if told.status:
            failed.append((line, told.status, told.err))
        assert left(folder) == [], line
        assert not list(folder.rglob("*.tmp")) and not list(folder.glob("*cache*")), line
    assert [line for line, *_ in failed] == [
        "verify ../proof.json",
        "show --run",
        "verify @",
    ], failed
    with Brain.open(folder) as brain:
        assert brain.skills.list() and brain.skills.select("reentrancy")
        assert any(name.startswith(brain.id) for name in os.listdir(tmp_path / "caches"))
    assert left(folder) == []
    assert left(tmp_path / "child") == []


def test_every_command_is_in_that_session_or_stands_apart_for_a_reason():
    done = {tuple(line.split()) for line in SESSION.strip().splitlines()}
    leaves = [tuple(name.split()) for name in COMMANDS]
    assert len(leaves) > 60
    missed = [
        path
        for path in leaves
        if not {path[0], " ".join(path)} & ELSEWHERE.keys()
        and not any(call[: len(path)] == path for call in done)
    ]
    assert missed == []
