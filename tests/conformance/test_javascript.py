"""A second implementation, in JavaScript and from the specification, agrees with the vectors."""

from collections import defaultdict
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any

import pytest

from brain import Brain
from brain.objects import lineage
from brain.objects.snapshot import encode_snapshot
from brain.store.rows import ObjectKind
from brain.trust.ed25519 import KeySignature, format_key
from tests.support.conformance import differential_campaign, javascript_peer
from tests.support.conformance.golden_vectors import (
    FAMILIES,
    GoldenVector,
    check_each_vector,
    read_family,
    vector_paths,
)
from tests.support.conformance.javascript_peer import JavascriptPeer, Question
from tests.support.conformance.signature_records import encode_signatures
from tests.support.signed_lineages import KEY_SEEDS, PUBLIC_KEYS


def export_brain(brain: Brain, folder: Path) -> Path:
    """Write out the lineage of the head, and every object of the store; return the folder."""
    folder.mkdir()
    reader = brain._session.reader
    signed: dict[bytes, list[KeySignature]] = defaultdict(list)
    for snapshot, key, signature in reader.stream_signatures():
        signed[snapshot].append(KeySignature(key, signature))
    above = lineage.walk_ancestors(brain._session.load_snapshot, brain._session.head())
    (folder / "snapshots").write_bytes(frame_items(encode_snapshot(one) for _, one in above))
    for name, kind in (("nodes", ObjectKind.NODE), ("bundles", ObjectKind.BUNDLE)):
        (folder / name).write_bytes(frame_items(data for _, data in reader.stream_objects(kind)))
    blobs = (
        reader.read_blob(id) for kind, id in reader.stream_object_ids() if kind == ObjectKind.BLOB
    )
    (folder / "blobs").write_bytes(frame_items(blobs))
    records = (encode_signatures(here, rows) for here, rows in signed.items())
    (folder / "signatures").write_bytes(frame_items(records))
    return folder


def frame_items(items: Iterable[bytes]) -> bytes:
    """Return items, each behind its length."""
    return b"".join(len(data).to_bytes(4, "big") + data for data in items)


def make_brain_with_history(root: Path, skills: int = 300) -> Brain:
    """Make a brain with a past: sections, merges, runs, a redaction, keys that came and went."""
    with Brain.init(root, author="tester", sign_with=lambda: KEY_SEEDS[0]) as brain:
        brain.trust.add(format_key(PUBLIC_KEYS[0]), "first")
        for number in range(skills):
            _write_file(
                brain, f"skills/{'abc'[number % 3]}/skill-{number:03}/SKILL.md", _skill_text(number)
            )
        _write_file(brain, "memory/notes.md", "The password is swordfish.\n")
        _write_file(brain, "é/🧠.md", "Beyond ASCII.\n")
        _write_file(brain, "empty", "")
        (brain.root / "link").symlink_to("empty")
        brain.snapshot("Begin")
        _write_file(brain, "memory/notes.md", "Nothing to see.\n")
        brain.snapshot("Take it back")
        brain.files.redact("memory/notes.md", rev="@~1", reason="It holds a password")
        with brain.task("Count the skills", agent="counter") as task:
            task.record_tool_call("bash", "ls skills", "a b c")
            task.upsert_skill("Counting", "Count twice.\n", description="Counts.")
            task.write_file("memory/count.md", f"{skills}\n")
        brain.branches.create("side")
        brain.skills.upsert("Counting", "Count three times.\n")
        brain.branches.switch("side")
        brain.skills.upsert("Sorting", "Sort before you count.\n", description="Sorts.")
        brain.branches.switch("main")
        brain.merge.start("side")
        brain.trust.add(format_key(PUBLIC_KEYS[1]), "second")
    with Brain.open(root, author="tester", sign_with=lambda: KEY_SEEDS[1]) as brain:
        before = brain.head
        brain.skills.upsert("Sorting", "Sort well.\n")
        brain.trust.retire(format_key(PUBLIC_KEYS[0]))
        brain.trust.add(format_key(PUBLIC_KEYS[2]), "third")
        brain.skills.delete("counting")
    with Brain.open(root, author="tester", sign_with=lambda: KEY_SEEDS[2]) as brain:
        brain.skills.upsert("Sorting", "Sort better.\n")
        brain.trust.revoke(format_key(PUBLIC_KEYS[1]), "It was lost", before)
        brain.skills.upsert("Sorting", "Sort best.\n")
    with Brain.open(root, author="tester") as brain:
        brain.skills.upsert("Sorting", "Nobody signs this.\n")
    return Brain.open(root, author="tester", sign_with=lambda: KEY_SEEDS[2])


def _write_file(brain: Brain, path: str, text: str) -> None:
    place = brain.root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, "utf-8")


def _skill_text(number: int) -> str:
    head = f"---\nname: skill-{number:03}\ndescription: The one of number {number}.\n---\n"
    return f"{head}Do it {number} times.\n"


@pytest.fixture(scope="module")
def peer():
    with javascript_peer.run_javascript_peer() as started:
        yield started


def questions(vector: GoldenVector) -> list[Question]:
    """Return what to ask for a vector: more than one where it stands for many objects."""
    kind, _, many = vector.kind.partition("-")
    if many == "prefixes":
        return [(kind, _hex(vector.data[:end])) for end in range(len(vector.data))]
    if many == "flips":
        return [(kind, _hex(vector.data)), *((kind, _hex(data)) for data in _flipped(vector.data))]
    if vector.kind == "roles":
        contexts = [name for name in vector.expected if name != "blob"]
        asked = [("domain", {**_hex(vector.data), "context": name}) for name in contexts]
        return [("blob", _hex(vector.data)), *asked]
    if vector.kind == "tree":
        return [("tree", {"paths": vector_paths(vector.input)})]
    if {"hex", "text", "parts"} & set(vector.input):
        return [(vector.kind, {**vector.input, **_hex(vector.data)})]
    return [(vector.kind, vector.input)]


def _hex(data: bytes) -> dict[str, str]:
    return {"hex": data.hex()}


def _flipped(data: bytes) -> Generator[bytes]:
    for bit in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        yield bytes(flipped)


@pytest.mark.parametrize("family", FAMILIES)
def test_it_gives_what_each_vector_says_or_refuses_it(peer, family, subtests):
    check_each_vector(subtests, read_family(family), lambda vector: _check_vector(peer, vector))


def _check_vector(peer: JavascriptPeer, vector: GoldenVector) -> None:
    answers = peer.ask(questions(vector))
    assert not [answer["fault"] for answer in answers if "fault" in answer]
    if vector.kind.endswith("-flips"):
        same = [answer for answer in answers if answer == answers[0]]
        assert len(same) == 1
    elif vector.kind == "roles":
        assert [answer["ok"]["id"] for answer in answers] == _roles(vector.expected)
    elif not vector.valid:
        assert all("refused" in answer for answer in answers)
    else:
        (answer,) = answers
        assert "ok" in answer
        assert not vector.expected or answer["ok"] == vector.expected


def _roles(expected: dict[str, Any]) -> list[Any]:
    return [expected["blob"], *(id for name, id in expected.items() if name != "blob")]


def test_every_kind_of_vector_is_checked(peer):
    vectors = [vector for family in FAMILIES for vector in read_family(family)]
    asked = {kind for vector in vectors for kind, _ in questions(vector)}
    (kinds_known,) = peer.ask([("kinds", None)])
    assert asked <= set(kinds_known["ok"])


def test_it_finds_in_a_real_brain_what_verify_finds(peer, tmp_path):
    roots = [format_key(PUBLIC_KEYS[0])]
    with make_brain_with_history(tmp_path / "brain") as brain:
        found = brain.verify(deep=True, roots=roots)
        folder = export_brain(brain, tmp_path / "written")
        objects = list(brain._session.reader.stream_object_ids())
        ids = sorted(row.snapshot for row in brain.history.log())
        (gone,) = brain._session.reader.list_redaction_rows()
    (answer,) = peer.ask([("written", {"folder": str(folder), "roots": roots})])
    told = answer["ok"]
    assert (told["brain"], told["head"], told["ids"]) == (found.brain, found.head, ids)
    assert told["gone"] == [gone.hex()]
    for kind, name in (
        (ObjectKind.NODE, "nodes"),
        (ObjectKind.BUNDLE, "bundles"),
        (ObjectKind.BLOB, "blobs"),
    ):
        assert told[name] == sorted(id.hex() for one, id in objects if one == kind)
    ours = [(row.snapshot, row.code, row.severity) for row in found.findings]
    assert sorted(map(tuple, told["findings"])) == sorted(
        row for row in ours if row[1] != "redacted"
    )
    assert {code for _, code, _ in ours} >= {"revoked_key", "unsigned", "redacted"}


@pytest.mark.parametrize("name", ["snapshots", "nodes", "bundles", "blobs"])
def test_it_refuses_a_brain_of_which_something_is_missing(peer, tmp_path, name):
    with make_brain_with_history(tmp_path / "brain", skills=3) as brain:
        folder = export_brain(brain, tmp_path / "written")
    whole = (folder / name).read_bytes()
    first = whole[: 4 + int.from_bytes(whole[:4], "big")]
    gone = {"snapshots": whole[-30:], "blobs": frame_items([b"Beyond ASCII.\n"])}.get(name, first)
    assert gone in whole
    (folder / name).write_bytes(whole.replace(gone, b""))
    (answer,) = peer.ask([("written", {"folder": str(folder), "roots": []})])
    assert "refused" in answer


def test_both_agree_on_mutants_of_the_vectors(peer):
    outcomes = list(differential_campaign.run_campaign(peer, seed=11, first=0, count=4_000))
    assert [found for _, _, found in outcomes if found] == []
    taken = {kind for kind, outcome, _ in outcomes if outcome == "taken"}
    refused = {kind for kind, outcome, _ in outcomes if outcome == "refused"}
    assert taken >= refused


def test_it_is_short_enough_to_be_read():
    files = sorted(javascript_peer.MAIN_SCRIPT.parent.iterdir())
    assert {file.suffix for file in files} == {".mjs"}
    assert sum(len(file.read_text("utf-8").splitlines()) for file in files) <= 1_880
