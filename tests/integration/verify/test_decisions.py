"""Verification holds every decision to its verdict."""

from collections.abc import Callable
from pathlib import Path

import pytest

from brain import Brain
from brain.digest import blob_id
from brain.objects.operation import SnapshotOperation
from brain.objects.snapshot import encode_snapshot
from brain.objects.tree_node import LINK, TreeEntry
from brain.repo.transaction import locked_write_transaction
from brain.results import Finding
from brain.store.rows import object_checksum
from brain.trust.ed25519 import format_key
from brain.verdicts.verdict import ProgramFile, Verdict, VerdictCase, encode_verdict
from tests.support.brain_templates import copy_brain
from tests.support.decisions import (
    FOLDER,
    OTHER_PROGRAM,
    OUTPUT,
    PAYLOAD,
    PROGRAM,
    RETIRED_FOLDER,
    SLUG,
    admission,
    admit_new,
    decide,
    make_program,
    put_verdict,
    record,
    reinstatement,
    rejection,
    removed,
    retirement,
    skill_files,
    skill_text,
)
from tests.support.signed_lineages import KEY_SEEDS, PUBLIC_KEYS
from tests.support.store_tampering import execute_in_store

Edits = dict[str, bytes | None]
NOWHERE = blob_id(b"nowhere")


@pytest.fixture
def brain(tmp_path):
    with Brain.open(copy_brain(_make_brain, tmp_path / "agent"), author="tester") as opened:
        yield opened


def _make_brain(root: Path) -> None:
    with Brain.init(root, author="tester") as made:
        made.skills.upsert("Oracle", "Ask.\n", description="d")
        admit_new(made)


def brief(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(one.code, one.severity) for one in findings]


def verified(brain: Brain) -> list[tuple[str, str]]:
    return brief(brain.verify(deep=True).findings)


def test_an_admission_by_its_verdict_is_valid(brain):
    assert verified(brain) == []


def test_the_life_of_a_skill_is_valid(brain):
    live, better = skill_files("1"), skill_files("2", OTHER_PROGRAM)
    decide(brain, better, ("1", "2"), admission(OTHER_PROGRAM))
    decide(brain, skill_files("3"), ("2", "3"), reinstatement())  # rolled back
    away = {**removed(live), **skill_files("3", PROGRAM, RETIRED_FOLDER)}
    decide(brain, away, ("3", "3"), retirement())
    back = {**removed(skill_files("3", PROGRAM, RETIRED_FOLDER)), **skill_files("4")}
    decide(brain, back, ("3", "4"), reinstatement())
    decide(brain, {}, ("4", "4"), admission())
    assert verified(brain) == []


def test_a_skill_without_a_program_is_retired_and_reinstated(brain):
    text, kept = "skills/oracle/SKILL.md", "skills/_retired/oracle/SKILL.md"
    content = (brain.root / text).read_bytes()
    for verdict, edits, versions in (
        (retirement(), {text: None, kept: content}, ("1", "")),
        (
            reinstatement()._replace(files=()),
            {kept: None, text: content.replace(b'version: "1"', b'version: "2"')},
            ("", "2"),
        ),
    ):
        blob = put_verdict(brain, verdict._replace(skill="oracle"))
        record(brain, edits, (verdict.decision, "oracle", *versions, blob))
    assert verified(brain) == []


def test_a_rejected_attempt_lies_beside_the_branch_and_is_held_to_its_verdict(brain):
    session = brain._session
    head = session.head()
    for program, expected in ((OTHER_PROGRAM, []), (PROGRAM, [("verdict_mismatch", "error")])):
        attempt = skill_files("2", OTHER_PROGRAM)
        here = decide(brain, attempt, ("1", "2"), rejection(program))
        with session.store.transaction() as tx:
            tx.update_ref(f"rejected/{SLUG}/{here.hex()[:8]}", None, here)
        brain.undo()
        assert session.head() == head
        found = [one for one in brain.verify().findings if one.code != "ref_mismatch"]
        assert brief(found) == expected


def failing(kind: str) -> Verdict:
    case = VerdictCase(kind=kind, name="one more", outcome="fail")
    return admission()._replace(cases=(*admission().cases, case))


def without(kind: str, verdict: Verdict | None = None) -> Verdict:
    verdict = verdict or admission()
    return verdict._replace(cases=tuple(case for case in verdict.cases if case.kind != kind))


NO_PARAMETERS = make_program(schema={"type": "object", "properties": {}})
ATTACKS: dict[str, tuple[Edits, tuple[str, str], Verdict, str]] = {
    "an admission with a case that failed": ({}, ("1", "1"), failing("author"), "bad_verdict"),
    "an admission with an unseen payload that failed": (
        {},
        ("1", "1"),
        failing("unseen"),
        "bad_verdict",
    ),
    "an admission with a stub that survived": ({}, ("1", "1"), failing("stub"), "bad_verdict"),
    "an admission without a case of the author": ({}, ("1", "1"), without("author"), "bad_verdict"),
    "an admission without unseen payloads": ({}, ("1", "1"), without("unseen"), "bad_verdict"),
    "an admission without stubs": ({}, ("1", "1"), without("stub"), "bad_verdict"),
    "an admission outside a sandbox": (
        {},
        ("1", "1"),
        admission()._replace(sandbox=""),
        "bad_verdict",
    ),
    "a rejection for nothing": (
        {},
        ("1", "1"),
        admission()._replace(decision="reject"),
        "bad_verdict",
    ),
    "a retirement for nothing": (
        {**removed(skill_files("1")), **skill_files("1", PROGRAM, RETIRED_FOLDER)},
        ("1", "1"),
        retirement(""),
        "bad_verdict",
    ),
    "a reinstatement with a case that failed": (
        skill_files("2"),
        ("1", "2"),
        reinstatement()._replace(cases=failing("author").cases),
        "bad_verdict",
    ),
    "a verdict of another skill": (
        {},
        ("1", "1"),
        admission()._replace(skill="oracle"),
        "verdict_mismatch",
    ),
    "a verdict over other code": ({}, ("1", "1"), admission(OTHER_PROGRAM), "verdict_mismatch"),
    "a verdict over other tests": (
        {f"{FOLDER}/SKILL.md": skill_text("2"), f"{FOLDER}/tests/check.py": b"pass\n"},
        ("1", "2"),
        admission(),
        "verdict_mismatch",
    ),
    "a verdict that does not name a test": (
        {f"{FOLDER}/SKILL.md": skill_text("2"), f"{FOLDER}/tests/more.json": b"[]"},
        ("1", "2"),
        admission(),
        "verdict_mismatch",
    ),
    "a verdict that names a test too many": (
        {},
        ("1", "1"),
        admission()._replace(
            files=(*admission().files, ProgramFile("tests/more.json", blob_id(b"[]")))
        ),
        "verdict_mismatch",
    ),
    "an admission of a program by a verdict over none": (
        {},
        ("1", "1"),
        admission()._replace(files=(), cases=()),
        "verdict_mismatch",
    ),
    "a version before that was not": (
        skill_files("3"),
        ("2", "3"),
        admission(),
        "verdict_mismatch",
    ),
    "a new skill that is an old one": (
        skill_files("2"),
        ("", "2"),
        admission(),
        "verdict_mismatch",
    ),
    "a version after that is not": (skill_files("2"), ("1", "3"), admission(), "verdict_mismatch"),
    "a skill that is there and said to be gone": ({}, ("1", ""), admission(), "verdict_mismatch"),
    "a program written at its old version": (
        skill_files("1", OTHER_PROGRAM),
        ("1", "1"),
        admission(OTHER_PROGRAM),
        "version_not_raised",
    ),
    "a retirement that leaves the skill where it is": (
        {},
        ("1", "1"),
        retirement(),
        "verdict_mismatch",
    ),
    "a retirement of other files than it names": (
        {**removed(skill_files("1")), **skill_files("1", OTHER_PROGRAM, RETIRED_FOLDER)},
        ("1", "1"),
        retirement()._replace(files=admission().files),
        "verdict_mismatch",
    ),
    "a reinstatement of what was never admitted": (
        skill_files("2", OTHER_PROGRAM),
        ("1", "2"),
        reinstatement(OTHER_PROGRAM),
        "verdict_mismatch",
    ),
    "a reinstatement of other files than it names": (
        skill_files("2", OTHER_PROGRAM),
        ("1", "2"),
        reinstatement(),
        "verdict_mismatch",
    ),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_decision_that_its_verdict_does_not_support_is_an_error(brain, attack):
    edits, versions, verdict, code = ATTACKS[attack]
    here = decide(brain, edits, versions, verdict)
    found = brain.verify()
    assert not found.ok
    assert {(one.code, one.snapshot) for one in found.findings} == {(code, here.hex())}


FORGERIES: dict[str, tuple[Callable[[], bytes], str]] = {
    "no verdict at all": (lambda: b"admitted, honestly", "bad_verdict"),
    "a verdict of a later version": (
        lambda: encode_verdict(admission()).replace(b"brain v1", b"brain v2"),
        "bad_verdict",
    ),
    "a verdict with a field more": (
        lambda: encode_verdict(admission()).replace(b'{"cases"', b'{"also":1,"cases"'),
        "bad_verdict",
    ),
    "a verdict past its size": (lambda: b" " * ((4 << 20) + 1), "bad_verdict"),
    "a verdict of another decision": (lambda: encode_verdict(rejection()), "verdict_mismatch"),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_blob_that_is_not_the_verdict_is_an_error(brain, forgery):
    make, code = FORGERIES[forgery]
    operation: SnapshotOperation = ("admit", SLUG, "1", "1", put_verdict(brain, make()))
    here = record(brain, {}, operation)
    assert [(one.code, one.snapshot) for one in brain.verify().findings] == [(code, here.hex())]


@pytest.mark.parametrize("kind", ["admit", "reject", "retire", "reinstate"])
def test_a_decision_whose_verdict_is_nowhere_is_an_error(brain, kind):
    here = record(brain, {}, (kind, SLUG, "1", "1", NOWHERE))
    (found,) = brain.verify().findings
    assert (found.code, found.severity, found.snapshot) == ("missing_verdict", "error", here.hex())
    assert kind in found.message and NOWHERE.hex() in found.message


def test_a_verdict_that_was_redacted_is_a_note_and_admits_nothing(brain):
    verdict = blob_id(encode_verdict(admission()))
    _redact(brain, verdict)
    assert verified(brain) == [("redacted", "note")]
    decide(brain, skill_files("2"), ("1", "2"), reinstatement())
    assert ("verdict_mismatch", "error") in verified(brain)


def _redact(brain: Brain, blob: bytes) -> None:
    redacting = record(brain, {}, ("redact", "a.md", blob, "a test"))
    with brain._session.store.transaction() as tx:
        tx.redact_blob(blob, redacting, lambda others: set())


def test_a_program_without_parameters_needs_no_unseen_payload(brain):
    verdict = without("unseen", admission(NO_PARAMETERS))
    decide(brain, skill_files("2", NO_PARAMETERS), ("1", "2"), verdict)
    assert verified(brain) == []


@pytest.mark.parametrize("schema", [[], {"properties": {"a": {}}}, "x", {"properties": 1}])
def test_a_program_with_another_schema_needs_an_unseen_payload(brain, schema):
    program = make_program(schema=schema)
    decide(brain, skill_files("2", program), ("1", "2"), without("unseen", admission(program)))
    assert brief(brain.verify().findings) == [("bad_verdict", "error")]


def test_a_payload_that_is_missing_is_a_warning_and_one_redacted_is_nothing(brain):
    session = brain._session
    session.store._db.execute("DELETE FROM blobs WHERE id = ?", (blob_id(PAYLOAD),))  # type: ignore[attr-defined]
    found = brain.verify()
    assert found.ok and brief(found.findings) == [("missing_case", "warning")]
    assert "author 1" in found.findings[0].message
    _redact(brain, blob_id(PAYLOAD))
    assert verified(brain) == []


def test_the_skill_of_a_decision_may_lie_in_a_category(brain):
    folder = f"skills/text/{SLUG}"
    moved = {**removed(skill_files("1")), **skill_files("2", PROGRAM, folder)}
    decide(brain, moved, ("1", "2"), admission())
    decide(brain, {}, ("2", "2"), admission())
    assert verified(brain) == []


def test_a_link_is_not_part_of_a_program(brain):
    program = make_program("tests/cases.json")  # as code, and as the target of a link
    decide(brain, skill_files("2", program), ("1", "2"), admission(program))
    code = f"{FOLDER}/skill.py"
    with locked_write_transaction(brain._session, "snapshot", "a link") as txn:
        entry = TreeEntry(code, LINK, blob_id(program.code), len(program.code))
        txn.record_snapshot({code: entry}, ("snapshot",))
        txn.writes[code] = entry
    assert brain.verify().ok
    decide(brain, {}, ("2", "2"), admission(program))
    assert brief([one for one in brain.verify().findings if one.severity == "error"]) == [
        ("verdict_mismatch", "error")
    ]


def test_tests_without_code_are_no_program(brain):
    text = (brain.root / "skills/oracle/SKILL.md").read_bytes()
    verdict = admission()._replace(
        skill="oracle", decider="person", decided_by="Ada", files=(), cases=()
    )
    edits = {
        "skills/oracle/tests/a.md": b"a\n",
        "skills/oracle/SKILL.md": text.replace(b'version: "1"', b'version: "2"'),
    }
    record(brain, edits, ("admit", "oracle", "1", "2", put_verdict(brain, verdict)))
    assert verified(brain) == []


def test_a_retired_skill_is_not_in_use_before_an_admission(brain):
    away = {**removed(skill_files("1")), **skill_files("1", PROGRAM, RETIRED_FOLDER)}
    decide(brain, away, ("1", "1"), retirement())
    back = {**removed(skill_files("1", PROGRAM, RETIRED_FOLDER)), **skill_files("2")}
    decide(brain, back, ("1", "2"), admission())
    assert verified(brain) == [("verdict_mismatch", "error")]


def test_versions_of_a_redacted_text_are_not_asked(brain):
    decide(brain, skill_files("2"), ("1", "2"), admission())
    brain.files.redact(f"{FOLDER}/SKILL.md", reason="a test")
    assert brain.verify().ok


def test_a_redacted_schema_may_have_had_no_parameters(brain):
    decide(brain, skill_files("2"), ("1", "2"), without("unseen"))
    assert brief(brain.verify().findings) == [("bad_verdict", "error")]
    brain.files.redact(f"{FOLDER}/schema.json", reason="a test")
    assert brain.verify().ok


def test_code_swapped_after_its_admission_needs_another(brain):
    (brain.root / FOLDER / "skill.py").write_text("print('evil')\n")
    brain.snapshot("swapped")
    assert brain.verify().ok  # nothing claims that this code was admitted
    decide(brain, {}, ("1", "1"), admission())
    assert brief([one for one in brain.verify().findings if one.severity == "error"]) == [
        ("verdict_mismatch", "error")
    ]


def test_garbage_collection_keeps_what_a_verdict_names(brain):
    brain.gc(grace=0)
    reader = brain._session.reader
    assert not reader.find_missing([blob_id(PAYLOAD), blob_id(OUTPUT)])
    assert verified(brain) == []


def test_garbage_collection_runs_where_a_verdict_is_no_verdict_or_lacks_its_payload(brain):
    session = brain._session
    session.store._db.execute("DELETE FROM blobs WHERE id = ?", (blob_id(PAYLOAD),))  # type: ignore[attr-defined]
    record(brain, {}, ("admit", SLUG, "1", "1", put_verdict(brain, b"not a verdict")))
    brain.gc(grace=0)
    assert not session.reader.find_missing([blob_id(OUTPUT)])


def _sign(brain: Brain) -> None:
    """Sign from now on, by a key that the brain trusts."""
    brain._session.sign_with = lambda: KEY_SEEDS[0]
    brain.trust.add(format_key(PUBLIC_KEYS[0]), "ada")


def test_a_verdict_edited_in_the_store_after_signing_is_an_error(brain):
    _sign(brain)
    here = decide(
        brain,
        skill_files("2", OTHER_PROGRAM),
        ("1", "2"),
        failing("author")._replace(
            decision="reject", reason="it failed", files=admission(OTHER_PROGRAM).files
        ),
    )
    old = brain._session.load_snapshot(here).operation[-1]
    new = put_verdict(brain, admission(OTHER_PROGRAM))
    execute_in_store(
        brain.root,
        (
            "UPDATE blobs SET (codec, data) = (SELECT codec, data FROM blobs WHERE id = ?)"
            " WHERE id = ?",
            (new, old),
        ),
    )
    found = brain.verify()
    assert [(one.code, one.snapshot) for one in found.findings] == [("corrupt_object", here.hex())]


def test_a_decision_added_after_signing_is_unsigned(brain):
    _sign(brain)
    brain._session.sign_with = None
    decide(brain, {}, ("1", "1"), admission())
    assert "unsigned" in {one.code for one in brain.verify().findings}


def test_an_operation_edited_after_signing_is_not_the_signed_snapshot(brain):
    _sign(brain)
    here = decide(brain, skill_files("2", OTHER_PROGRAM), ("1", "2"), admission(OTHER_PROGRAM))
    session = brain._session
    edited = session.load_snapshot(here)._replace(
        operation=("admit", SLUG, "1", "2", put_verdict(brain, rejection(OTHER_PROGRAM)))
    )
    data = encode_snapshot(edited)
    sql = "UPDATE objects SET data = ?, checksum = ? WHERE id = ?"
    execute_in_store(brain.root, (sql, (data, object_checksum(here, 3, data), here)))
    assert "corrupt_object" in {one.code for one in brain.verify().findings}
