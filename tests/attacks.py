"""Hostile changes of a brain's `.brain/`, and whether anything false is said afterwards.

`python -m tests.attacks --seed S --count N` changes a brain N times, alone and in pairs: rows
and values of each table with every checksum made anew, rows dropped, swapped and planted,
refs moved, files replaced. It asks each changed brain all questions of
tests/support/derived_data.py, the texts for agents, a restore and a revert, with a warm and with
an empty cache. Each answer must be that of an untouched brain with these refs, or an error; for
any other answer, a deep verification must refuse the brain.
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw

from brain import Brain, BrainError
from brain.encoding import pack
from brain.repo import derive
from brain.repo.derived_db import CACHE_DIR_VARIABLE
from brain.repo.transaction import log_operation
from brain.results import SnapshotDetails, SnapshotInfo
from brain.serve.tools import Toolbox
from brain.store import rows
from brain.verify.verification import verify_folder
from tests.support import store_mutations
from tests.support.decisions import OTHER_PROGRAM, SLUG, admission, admit_new, decide, skill_files
from tests.support.derived_data import AUTHOR, BULK_THRESHOLD, QUESTIONS, make_brain, open_brain
from tests.support.store_tampering import (
    execute_in_store,
    pending_write_statement,
    query_store,
    set_fact,
)

REVERTED, VERSION = "alpha", "1"
_SIGNED = ("redactions", "signatures")
_AT_ONCE = 50
WAITING = "a merge that waits"
"""What is said of a planted one; a status shows it, since no signature tells who began it."""

Change = Callable[[Path, random.Random], str]
"""Changes the brain at a path; returns what it did."""
State = tuple[tuple[tuple[str, bytes], ...], str]
"""The refs of a brain and its current branch."""


def make(root: Path) -> None:
    """Make the brain that is attacked: something of everything derived, signed and redacted."""
    make_brain(root)
    with Brain.open(root, author=AUTHOR, sign_with=lambda: bytes(32)) as brain:
        admit_new(brain)
        decide(brain, skill_files("2", OTHER_PROGRAM), ("1", "2"), admission(OTHER_PROGRAM))
        (root / "memory/secret.md").write_text("a secret that is to be redacted\n")
        (root / "memory/large.md").write_bytes(b"A line that is long enough.\n" * 12_000)
        brain.snapshot("Signed")
        brain.files.redact("memory/secret.md", reason="a test")
        brain.skills.upsert("Beta", "Do Beta at last.\n")


def value_changed(root: Path, rng: random.Random) -> str:
    """Change one value of one row."""
    change = next(store_mutations.draw_mutations(root, rng))
    store_mutations.apply_mutation(root, change)
    return str(change)


def row_dropped(root: Path, rng: random.Random) -> str:
    """Delete a row."""
    table = rng.choice(store_mutations.RECORDED_TABLES)
    places = [rowid for (rowid,) in query_store(root, f"SELECT {_key(table)} FROM {table}")]
    if not places:
        return f"nothing in {table}"
    key = rng.choice(places)
    execute_in_store(root, (f"DELETE FROM {table} WHERE {_key(table)} = ?", (key,)))
    if table == "facts":
        store_mutations._reseal_facts(root)
    return f"{table} without {key!r:.60}"


def objects_swapped(root: Path, rng: random.Random) -> str:
    """Put the data of one object under the id of another, with its checksum made anew."""
    kind = rng.choice((1, 2, 3))
    found = query_store(root, "SELECT id, kind, data FROM objects WHERE kind = ?", (kind,))
    (one, _, _), (_, _, data) = rng.choice(found), rng.choice(found)
    checksum = store_mutations.object_checksum(one, kind, data)
    sql = "UPDATE objects SET data = ?, checksum = ? WHERE id = ?"
    execute_in_store(root, (sql, (data, checksum, one)))
    return f"object {one.hex()[:12]} of kind {kind} replaced"


def contents_swapped(root: Path, rng: random.Random) -> str:
    """Put the content of one blob under the id of another."""
    found = query_store(root, "SELECT id, codec, data FROM blobs")
    (one, _, _), (_, codec, data) = rng.choice(found), rng.choice(found)
    execute_in_store(
        root, ("UPDATE blobs SET codec = ?, data = ? WHERE id = ?", (codec, data, one))
    )
    return f"blob {one.hex()[:12]} replaced"


def ref_moved(root: Path, rng: random.Random) -> str:
    """Let a ref lead to another snapshot."""
    names = [n for (n,) in query_store(root, "SELECT name FROM facts WHERE name LIKE 'ref:%'")]
    snapshots = [id for (id,) in query_store(root, "SELECT id FROM objects WHERE kind = 3")]
    like_an_id = f"ref:heads/{rng.choice(snapshots).hex()}"
    name, target = rng.choice([*names, "ref:heads/planted", like_an_id]), rng.choice(snapshots)
    if rng.random() < 0.5:
        set_fact(root, name, target)
        return f"{name} to {target.hex()[:12]}"
    ref = name.removeprefix("ref:")
    with suppress(BrainError), Brain.open(root, author=AUTHOR) as brain:
        session = brain._session
        with session.store.transaction() as tx:
            before = tx.read_ref(ref)
            tx.update_ref(ref, before, target)
            log_operation(session, tx, "branch", "moved", [(ref, before or b"", target)])
    return f"{name} to {target.hex()[:12]}, as the log says"


def fact_dropped(root: Path, rng: random.Random) -> str:
    """Take a fact out, or set it to another's value."""
    found = query_store(root, "SELECT name, value FROM facts WHERE name != ''")
    name, value = rng.choice(found)[0], rng.choice([None, rng.choice(found)[1]])
    set_fact(root, name, value)
    return f"fact {name} {'gone' if value is None else 'of another'}"


def pending_planted(root: Path, rng: random.Random) -> str:
    """Note a file that is still to be written."""
    blobs = [id for (id,) in query_store(root, "SELECT id FROM blobs")]
    path = rng.choice(["skills/planted/SKILL.md", "memory/notes.md", "skills/alpha/SKILL.md"])
    execute_in_store(
        root, pending_write_statement(path, rng.randrange(3), rng.choice([*blobs, b""]))
    )
    return f"pending {path}"


def merge_planted(root: Path, rng: random.Random) -> str:
    """Note a merge that waits, with a decision that nobody made."""
    some = [id for (id,) in query_store(root, "SELECT id FROM objects WHERE kind = 3")]
    blobs = [id for (id,) in query_store(root, "SELECT id FROM blobs")]
    row = ("skills/alpha/SKILL.md", "content", b"", b"", b"", "content", rng.choice(blobs))
    note = (rng.choice([*some, bytes(32)]), "idea", "main", "", (row,), "merge")
    set_fact(root, "meta:merge", pack(note))
    return WAITING


def redaction_planted(root: Path, rng: random.Random) -> str:
    """Say that a blob was redacted."""
    blob = rng.choice([id for (id,) in query_store(root, "SELECT id FROM blobs")])
    said = rng.choice([id for (id,) in query_store(root, "SELECT id FROM objects WHERE kind = 3")])
    row = (blob, said, rows.row_checksum(blob, said))
    execute_in_store(root, ("INSERT OR REPLACE INTO redactions VALUES (?, ?, ?)", row))
    if rng.random() < 0.5:
        execute_in_store(root, ("DELETE FROM blobs WHERE id = ?", (blob,)))
    set_fact(root, "redactions", (2).to_bytes(8, "big"))
    return f"blob {blob.hex()[:12]} said to be redacted"


def file_changed(root: Path, rng: random.Random) -> str:
    """Damage, empty or remove a file of `.brain`, or put one there."""
    control = root / ".brain"
    name = rng.choice(["mark", "lock", "store.db", "store.db-wal", "index", "conflicts", "cache"])
    how = rng.choice(["gone", "empty", "noise", "cut", "flipped"])
    file = control / name
    data = file.read_bytes() if file.is_file() else b""
    if how == "gone":
        file.unlink(missing_ok=True)
    elif how == "empty":
        file.write_bytes(b"")
    elif how == "noise":
        file.write_bytes(rng.randbytes(max(len(data), 64)))
    elif how == "cut":
        file.write_bytes(data[: rng.randrange(len(data) + 1)])
    elif data:
        at = rng.randrange(len(data))
        file.write_bytes(data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :])
    return f"{name} {how}"


CHANGES: tuple[tuple[Change, int], ...] = (
    (value_changed, 8),
    (row_dropped, 3),
    (objects_swapped, 3),
    (contents_swapped, 2),
    (ref_moved, 2),
    (fact_dropped, 1),
    (pending_planted, 1),
    (merge_planted, 1),
    (redaction_planted, 1),
    (file_changed, 2),
)
"""The changes, each with its share."""


def _key(table: str) -> str:
    return {"facts": "name", "pending": "path", "redactions": "blob", "signatures": "key"}.get(
        table, "rowid"
    )


def asked(root: Path) -> dict[str, object]:
    """Return what a brain answers, an error standing for itself."""
    found: dict[str, object] = {}
    try:
        brain = open_brain(root)
    except BrainError as error:
        return dict.fromkeys(QUESTIONS, error)
    with brain:
        for name, ask in QUESTIONS.items():
            if name != "merges":  # which no command tells: it lists also those that were undone
                found[name] = _caught(lambda ask=ask: ask(brain))
        found["ids"] = _caught(lambda: _check_ids(brain))
        found["decisions"] = _caught(lambda: brain.history.why(SLUG).decisions)
        tools = Toolbox(brain)
        for name in ("skills_list", "brain_log"):
            found[f"tool {name}"] = _caught(lambda name=name: tools.call(name, {}).text)
        found["tool skill_view"] = _caught(
            lambda: tools.call("skill_view", {"name": REVERTED}).text
        )
    return found


def _check_ids(brain: Brain) -> None:
    """See that each id names the snapshot that has it."""
    for one in brain.history.log():
        if brain.history.show(one.snapshot).info != one:
            raise AssertionError("an id names another snapshot")


def written(root: Path) -> dict[str, object]:
    """Return the folder after a revert of a skill and after a restore, or the errors."""
    found: dict[str, object] = {}
    try:
        brain = open_brain(root)
    except BrainError as error:
        return {"revert": error, "restore": error}
    with brain:
        found["revert"] = _caught(lambda: brain.skills.revert(REVERTED, VERSION).bundle)
        if not isinstance(found["revert"], BrainError):
            found["revert"] = found["revert"], _folder(root)
        found["restore"] = _caught(lambda: brain.restore("@~2") and None)
        if not isinstance(found["restore"], BrainError):
            found["restore"] = _folder(root)
    return found


def _folder(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".brain" not in path.parts
    }


def _caught(ask: Callable[[], object]) -> object:
    try:
        return ask()
    except BrainError as error:
        return error


def _state(root: Path) -> State | None:
    """Return where the refs of a brain stand, None if that cannot be told."""
    try:
        with open_brain(root) as brain:
            session = brain._session
            return tuple(sorted(session.reader.list_refs().items())), session.current_branch()
    except BrainError:
        return None


class Truth:
    """What an untouched brain answers, wherever its refs stand."""

    def __init__(self, whole: Path, scratch: Path) -> None:
        self._whole = whole
        self._scratch = scratch
        self._known: dict[State, dict[str, object]] = {}

    def of(self, state: State) -> dict[str, object]:
        """Return the answers of the brain with these refs and this branch."""
        if state not in self._known:
            copy = _copied(self._whole, self._scratch)
            refs, branch = state
            for (name,) in query_store(copy, "SELECT name FROM facts WHERE name LIKE 'ref:%'"):
                set_fact(copy, name, None)
            for name, id in refs:
                set_fact(copy, f"ref:{name}", id)
            set_fact(copy, "meta:branch", branch.encode())
            self._known[state] = {**asked(copy), **written(copy)}
        return self._known[state]


def _copied(root: Path, to: Path) -> Path:
    shutil.rmtree(to, ignore_errors=True)
    return Path(shutil.copytree(root, to, symlinks=True))


def wrong(truth: Truth, copy: Path, done: str) -> Iterator[str]:
    """Yield what a changed brain says that is false, and that nothing refuses."""
    state = _state(copy)
    said = asked(copy)
    right = truth.of(state) if state is not None else {}
    if WAITING in done:
        del said["status"]
    false = [name for name, answer in said.items() if _differs(answer, right.get(name), done)]
    refused = bool(false) and not verify_folder(copy, True).ok
    said = written(copy)
    late = [name for name, answer in said.items() if _differs(answer, right.get(name), done)]
    if not refused:
        yield from false
        if late and verify_folder(copy, True).ok:
            yield from late


def _differs(answer: object, right: object, done: str) -> bool:
    """Tell whether an answer is another one than the right one; an error is none."""
    if isinstance(answer, BrainError):
        return False
    if isinstance(right, BrainError):
        return True
    if isinstance(answer, SnapshotDetails) and isinstance(
        right, SnapshotDetails
    ):  # a signature may be gone
        fewer = [one for one in right.signatures if one in answer.signatures]
        right = right._replace(signatures=fewer, info=_fewer_signers(right.info, answer.info))
    if isinstance(answer, list) and isinstance(right, list) and len(answer) == len(right):
        right = [_fewer_signers(was, now) for was, now in zip(right, answer, strict=True)]
    if any(word in done for word in _SIGNED) and isinstance(answer, str):
        return _unsigned(answer) != _unsigned(str(right)) or "by keys that may" in answer
    return bool(answer != right)


def _fewer_signers(right: object, answer: object) -> object:
    """Leave out of a snapshot the signers of signatures that may be gone."""
    if not (isinstance(right, SnapshotInfo) and isinstance(answer, SnapshotInfo)):
        return right
    return right._replace(signers=[one for one in right.signers if one in answer.signers])


def _unsigned(text: str) -> str:
    """Return a prompt without its frames, which say who signed."""
    return "\n".join(line for line in text.split("\n") if not line.startswith("["))


def attack(place: Path, seed: int, numbers: range) -> list[str]:
    """Change a brain once for each number; return what was said that is false.

    The most that is told one by one of a snapshot is lowered meanwhile.
    """
    usual, before = derive.MIN_BULK_PATHS, os.environ.get(CACHE_DIR_VARIABLE)
    derive.MIN_BULK_PATHS = BULK_THRESHOLD
    try:
        return _attack(place, seed, numbers)
    finally:
        derive.MIN_BULK_PATHS = usual
        os.environ.pop(CACHE_DIR_VARIABLE, None)
        if before is not None:
            os.environ[CACHE_DIR_VARIABLE] = before


def _attack(place: Path, seed: int, numbers: range) -> list[str]:
    os.environ[CACHE_DIR_VARIABLE] = str(place / "warm")
    whole, copy = place / "whole" / "agent", place / "agent"
    if not whole.exists():
        whole.parent.mkdir(parents=True)
        make(whole)
        asked(whole)
        if not verify_folder(whole, True).ok:  # a brain refused as it is would hide everything
            raise AssertionError("the brain that is attacked does not verify")
    truth = Truth(whole, place / "truth" / "agent")
    bad = []
    for number in numbers:
        rng = random.Random(f"{seed} {number}")
        _copied(whole, copy)
        done = []
        for change in rng.choices(
            [one for one, _ in CHANGES], [share for _, share in CHANGES], k=rng.choice((1, 1, 2))
        ):
            # the first change may keep the second off
            with suppress(apsw.Error, IndexError, TypeError, ValueError):
                done.append(change(copy, rng))
        os.environ[CACHE_DIR_VARIABLE] = str(
            place / rng.choice(("warm", "warm", f"cold-{number % 7}"))
        )
        if number % 7 == 0:
            shutil.rmtree(place / "cold-0", ignore_errors=True)
        what = " and ".join(done)
        try:
            bad += [f"{number}: {what}: false: {name}" for name in wrong(truth, copy, what)]
        except Exception as error:  # noqa: BLE001  no error of ours may come out
            bad.append(f"{number}: {what}: {type(error).__name__}: {error}")
    return bad


def _share(arguments: tuple[int, range]) -> list[str]:
    seed, numbers = arguments
    with tempfile.TemporaryDirectory() as place:
        return attack(Path(place), seed, numbers)


def main(given: list[str] | None = None) -> int:
    """Run the campaign; the exit status is 1 if anything false was said."""
    parser = argparse.ArgumentParser(prog="python -m tests.attacks", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(given)
    last = options.first + options.count
    shares = [range(at, min(at + _AT_ONCE, last)) for at in range(options.first, last, _AT_ONCE)]
    total = 0
    with ProcessPoolExecutor(options.processes) as pool:
        for done, bad in enumerate(pool.map(_share, [(options.seed, one) for one in shares]), 1):
            total += len(bad)
            _tell(*bad)
            if done % 10 == 0:
                _tell(f"seed {options.seed}: {done * _AT_ONCE} changes, {total} wrong")
    _tell(f"seed {options.seed}: {options.count} changes, {total} wrong")
    return bool(total)


def _tell(*lines: Any) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
