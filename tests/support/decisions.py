"""Executable skills with decisions about them, recorded without a sandbox."""

import json

from brain import Brain
from brain.digest import blob_id
from brain.objects.tree_node import FILE, TreeEntry
from brain.programs.program import Program
from brain.receipts import Receipt
from brain.repo.transaction import locked_write_transaction
from brain.verdicts.verdict import (
    NamedNumber,
    NamedText,
    ProgramFile,
    Verdict,
    VerdictCase,
    encode_verdict,
)

SLUG = "count-words"
FOLDER = f"skills/{SLUG}"
RETIRED_FOLDER = f"skills/_retired/{SLUG}"
PAYLOAD, OUTPUT = b'{"text": "one two"}', b"2"
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}


def make_program(code: str = "print(2)\n", schema: object = SCHEMA) -> Program:
    """Return a program with a schema, one case and a check."""
    files = {
        "skill.py": code.encode(),
        "schema.json": json.dumps(schema).encode(),
        "tests/cases.json": b'[{"payload": {"text": "one two"}, "output": 2}]',
        "tests/check.py": b"def check(payload, output):\n    assert output >= 0\n",
    }
    return Program(slug=SLUG, files=files)


ADMITTED = (
    "admitted by its tests: 2 cases, 1 unseen payload, 2 stubs killed, bubblewrap, Python 3.11"
)
"""What is said of `admission()` in one line."""
PROGRAM, OTHER_PROGRAM = make_program(), make_program("print(3)\n")


def admission(program: Program = PROGRAM) -> Verdict:
    """Return the verdict that admits a program: two cases, one unseen payload and two stubs."""
    return Verdict(
        decision="admit",
        skill=SLUG,
        decider="rule",
        decided_by="its tests",
        files=program_files(program),
        code_check="generated",
        sandbox="bubblewrap",
        limits=(NamedNumber("wall_ms", 30_000),),
        versions=(NamedText("bubblewrap", "0.8.0"), NamedText("python", "3.11.2")),
        seed=7,
        cases=(
            VerdictCase(
                kind="author",
                name="author 1",
                outcome="pass",
                payload=blob_id(PAYLOAD),
                output=blob_id(OUTPUT),
                took=24,
            ),
            VerdictCase(kind="author", name="author 2", outcome="pass", took=25),
            VerdictCase(kind="unseen", name="unseen 1", outcome="pass", took=23),
            VerdictCase(kind="stub", name="always 0", outcome="pass"),
            VerdictCase(kind="stub", name="the payload itself", outcome="pass"),
        ),
    )


def rejection(program: Program = PROGRAM, reason: str = "author 1: it printed nothing") -> Verdict:
    """Return the verdict that rejects a program whose only case failed."""
    failed = VerdictCase(kind="author", name="author 1", outcome="fail", detail=reason)
    return admission(program)._replace(decision="reject", reason=reason, cases=(failed,))


def retirement(reason: str = "3 failures in a row") -> Verdict:
    """Return the verdict by which a rule retires the skill."""
    return Verdict(
        decision="retire",
        skill=SLUG,
        decider="rule",
        decided_by="failures in use",
        reason=reason,
        numbers=(NamedNumber("failures", 3), NamedNumber("uses", 9)),
    )


def reinstatement(program: Program = PROGRAM) -> Verdict:
    """Return the verdict by which a person brings the skill back with a program."""
    return Verdict(
        decision="reinstate",
        skill=SLUG,
        decider="person",
        decided_by="Ada",
        files=program_files(program),
    )


def program_files(program: Program) -> tuple[ProgramFile, ...]:
    """Return the files of a program as a verdict names them."""
    return tuple(ProgramFile(path, blob) for path, blob in program.blobs)


def skill_text(version: str) -> bytes:
    """Return the SKILL.md of the skill at a version."""
    return f"---\nname: {SLUG}\ndescription: Counts.\nversion: {version}\n---\nx\n".encode()


def skill_files(
    version: str, program: Program = PROGRAM, folder: str = FOLDER
) -> dict[str, bytes | None]:
    """Return all files of the skill, by full path."""
    files = {f"{folder}/{path}": content for path, content in program.files.items()}
    return {f"{folder}/SKILL.md": skill_text(version), **files}


def removed(files: dict[str, bytes | None]) -> dict[str, bytes | None]:
    """Return the removal of files."""
    return dict.fromkeys(files)


def put_verdict(brain: Brain, verdict: Verdict | bytes, *more: bytes) -> bytes:
    """Store a verdict, or any bytes in its place, and contents it names; return its blob id."""
    data = verdict if isinstance(verdict, bytes) else encode_verdict(verdict)
    with brain._session.store.transaction() as tx:
        for content in more:
            tx.put_blob(content)
        return tx.put_blob(data)


def decide(
    brain: Brain,
    edits: dict[str, bytes | None],
    versions: tuple[str, str],
    verdict: Verdict,
    receipt: Receipt | None = None,
) -> bytes:
    """Record a decision with the files it changes; return the snapshot."""
    blob = put_verdict(brain, verdict, PAYLOAD, OUTPUT)
    return record(brain, edits, (verdict.decision, SLUG, *versions, blob), receipt)


def record(
    brain: Brain,
    edits: dict[str, bytes | None],
    operation: tuple[str | bytes, ...],
    receipt: Receipt | None = None,
) -> bytes:
    """Record a snapshot of an operation and write its files; return its id."""
    with locked_write_transaction(brain._session, "snapshot", str(operation[0])) as txn:
        entries = {
            path: None
            if content is None
            else TreeEntry(path, FILE, txn.store_tx.put_blob(content), len(content))
            for path, content in edits.items()
        }
        carried = {} if receipt is None else {"receipt": receipt}
        snapshot_id = txn.record_snapshot(entries, operation, **carried)
        txn.writes.update(entries)
    return snapshot_id


def admit_new(brain: Brain, version: str = "1", program: Program = PROGRAM) -> bytes:
    """Acquire the skill: record its files with their admission."""
    return decide(brain, skill_files(version, program), ("", version), admission(program))
