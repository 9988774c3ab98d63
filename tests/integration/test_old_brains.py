"""Brains made by an earlier version open, verify, keep their ids, and are written on."""

import json
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from brain import Brain, Conflict, NotFound
from brain.results import SkillVersion

FIXTURES = Path(__file__).parent.parent / "fixtures" / "old_brains"
EXPECTED: dict[str, dict[str, Any]] = json.loads((FIXTURES / "expected.json").read_text())
SEED = bytes([1]) * 32
KINDS = sorted(EXPECTED)

OpenOld = Callable[[str], Brain]


@pytest.fixture
def open_old(tmp_path: Path) -> Iterator[OpenOld]:
    opened = []

    def unpack(kind: str) -> Brain:
        with tarfile.open(FIXTURES / "brains.tar.xz") as archive:
            members = [each for each in archive if each.name.startswith(f"./{kind}/")]
            archive.extractall(tmp_path, members, filter="tar")
        sign = (lambda: SEED) if kind == "signed" else None
        opened.append(Brain.open(tmp_path / kind, author="eve", sign_with=sign))
        return opened[-1]

    yield unpack
    for brain in opened:
        brain.close()


def describe(brain: Brain) -> dict[str, Any]:
    """Return what `make_brains.txt` noted of a brain."""
    branches = {each.name: each.snapshot for each in brain.branches.list().branches}
    tags = {each.name: each.snapshot for each in brain.tags.list()}
    proposals = {each.name: each.snapshot for each in brain.proposals.list()}
    attempts = {each.attempt: each.snapshot for each in brain.programs.attempts()}
    tips = {*branches.values(), *tags.values(), *proposals.values(), *attempts.values()}
    found = {info.snapshot: info for tip in tips for info in brain.history.log(tip)}
    verified = brain.verify(deep=True)
    return {
        "brain": verified.brain,
        "head": brain.head,
        "branches": branches,
        "tags": tags,
        "proposals": proposals,
        "attempts": attempts,
        "snapshots": {
            id: [info.bundle, info.parents, info.receipt, info.operation]
            for id, info in found.items()
        },
        "files": {each.path: [each.kind, each.blob] for each in brain.files.list()},
        "skills": {
            path: [[each.version, each.change, each.snapshot] for each in versions]
            for path, _, versions in list_versions(brain)
        },
        "signatures": {
            id: sorted(each.signature for each in brain.signatures.list(id)) for id in found
        },
        "operations": [[each.operation, each.kind] for each in brain.history.list_operations()],
        "findings": sorted(each.code for each in verified.findings),
        "counts": [verified.snapshots, verified.objects],
    }


def list_versions(brain: Brain) -> Iterator[tuple[str, str, list[SkillVersion]]]:
    for skill in brain.skills.list():
        yield skill.path, skill.slug, brain.skills.history(skill.path.removesuffix("/SKILL.md"))


@pytest.mark.parametrize("kind", KINDS)
def test_an_old_brain_has_every_id_that_it_had(kind: str, open_old: OpenOld) -> None:
    brain = open_old(kind)
    assert describe(brain) == EXPECTED[kind]
    assert brain.status().clean
    assert not brain.snapshot("nothing changed").changed


@pytest.mark.parametrize("kind", KINDS)
def test_all_that_an_old_brain_holds_is_read(kind: str, open_old: OpenOld) -> None:
    brain = open_old(kind)
    gone = set()
    for _, slug, versions in list_versions(brain):
        for each in versions:
            if each.change == "removed":
                continue
            try:
                assert brain.skills.view(f"{slug}@{each.version}").version == each.version
            except NotFound as error:
                assert error.code == "redacted"
                gone.add((slug, each.version))
        assert brain.history.why(slug).versions
    assert gone == ({("staging", 2)} if kind == "redacted" else set())
    for snapshot, (_, _, receipt, operation) in EXPECTED[kind]["snapshots"].items():
        for entry in brain.files.list(snapshot):
            if entry.kind != "link" and kind != "redacted":
                assert len(brain.files.read(entry.path, snapshot)) == entry.size
        if receipt:
            assert brain.receipts.verify(snapshot).ok
        assert brain.history.show(snapshot).info.operation == operation


@pytest.mark.parametrize("kind", KINDS)
def test_an_old_brain_is_written_on(kind: str, open_old: OpenOld) -> None:
    brain = open_old(kind)
    if kind == "merging":
        with pytest.raises(Conflict) as refused:
            brain.merge.start("night-shift")
        assert refused.value.code == "merging"
        brain.merge.resolve([each.path for each in brain.merge.list_conflicts()], "both")
        assert brain.merge.resume().snapshot
    done = brain.skills.upsert("Written today", "By another version.\n", description="New")
    brain.memory.add("memory", "A note of today.")
    known = {info.snapshot for info in brain.history.log()}
    assert EXPECTED[kind]["head"] in known and done.snapshot in known
    verified = brain.verify(deep=True)
    assert verified.ok and verified.brain == EXPECTED[kind]["brain"]
    brain.undo()
    brain.undo()
    assert set(describe(brain)["files"]) >= {*EXPECTED[kind]["files"]}


def test_decisions_and_signatures_of_an_old_brain_hold(open_old: OpenOld) -> None:
    decisions = [
        each.decision for each in open_old("verdicts").history.why("count-words").decisions
    ]
    assert decisions == ["reinstate", "retire", "admit", "admit"]
    gated = open_old("gated")
    (attempt,) = EXPECTED["gated"]["attempts"]
    assert gated.programs.read_attempt(attempt).verdict["decision"] == "reject"
    assert not gated.gate.recheck("greet").differences
    root = "ed25519:8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c"
    assert open_old("signed").verify(require_signatures=True, roots=[root]).ok


def test_what_is_redacted_in_an_old_brain_is_gone_from_its_store(open_old: OpenOld) -> None:
    for kind, path in (("dictionary", "skills/check-9/SKILL.md"), ("large", "memory/log.md")):
        brain = open_old(kind)
        text = brain.files.read(path)
        done = brain.files.redact(path, reason="it names an owner", history=True)
        assert done.removed and done.scrubbed and brain.verify(deep=True).ok
        brain.close()
        assert text[-60:] not in (brain.root / ".brain/store.db").read_bytes()


def test_a_large_file_of_an_old_brain_is_appended_to(open_old: OpenOld) -> None:
    brain = open_old("large")
    log = brain.root / "memory/log.md"
    with log.open("ab") as file:
        file.write(b"a last line\n")
    brain.snapshot("Appended today")
    assert brain.files.read("memory/log.md") == log.read_bytes()
    assert brain.verify(deep=True).ok
