"""Brains with rows forged by the project's own functions, so that ids and checksums match.

`python -m tests.support.lineages.forged_lineages SEED ROUNDS` forges brains, verifies each,
and runs what a user would run; any exception but a `BrainError` is a fault.
"""

import random
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw

from brain import Brain
from brain.encoding import pack, unpack
from brain.errors import BrainError
from brain.objects import bundle as bundles
from brain.objects import lineage
from brain.objects import snapshot as snapshots
from brain.objects.snapshot import Snapshot
from brain.objects.tree_node import TreeNode
from brain.repo.session import CONTROL_FOLDER, Session
from brain.repo.transaction import log_operation
from brain.store import reader
from brain.store import rows as store_rows
from brain.store.rows import ObjectKind, object_checksum
from brain.verify.verification import verify_folder

ForgeFunction = Callable[["RowForger"], None]


def make_brain(folder: Path) -> Path:
    """Make a brain with a bit of everything; return its folder."""
    with Brain.init(folder, author="tester") as brain:
        for number in range(30):
            brain.skills.upsert(f"skill {number}", f"{number}\n", description="d")
        (brain.root / "memory").mkdir(exist_ok=True)
        (brain.root / "memory/a.md").write_text("a secret\n")
        (brain.root / "SOUL.md").write_text("calm\n")
        brain.snapshot("by hand")
        brain.branches.create("idea")
        brain.branches.switch("idea")
        brain.skills.upsert("skill 1", "better\n")
        brain.branches.switch("main")
        brain.skills.upsert("skill 2", "better\n")
        brain.merge.start("idea")
        brain.files.redact("memory/a.md", reason="a name")
        brain.skills.merge("skill 3", "skill 4")
        brain.skills.delete("skill 5")
        brain.restore("@~1")
        with brain.task("a task"):
            brain.skills.upsert("skill 6", "done\n")
    return folder


class RowForger:
    """Forges rows of the store in one folder by chance."""

    def __init__(self, root: Path, chance: random.Random) -> None:
        self.root = root
        self.chance = chance
        self.done: list[str] = []

    def open_session(self) -> Session:
        """Open the brain."""
        return Brain.open(self.root)._session

    def random_value(self, depth: int = 0) -> Any:
        """Return anything that an object may hold."""
        pick = self.chance.choice
        plain = [
            lambda: pick((0, 1, 7, 2**31, 2**48, 2**53, 2**63 - 1, 2**63, 2**64 - 1)),
            lambda: pick(("", "a", "é", "\0", "\u202e", "../x", "a/b", "9" * 4301, "x" * 70_000)),
            lambda: self.chance.randbytes(pick((0, 1, 20, 31, 32, 33, 64))),
        ]
        if depth < 4:
            plain += [
                lambda: tuple(
                    self.random_value(depth + 1) for _ in range(self.chance.randrange(4))
                ),
                lambda: {"k": self.random_value(depth + 1)},
            ]
        return pick(plain)()

    def mutate_value(self, value: Any) -> Any:
        """Return a value that differs from another one somewhere inside."""
        if type(value) is tuple and value and self.chance.random() < 0.85:
            at = self.chance.randrange(len(value))
            way = self.chance.randrange(8)
            if way == 0:
                return (*value[:at], *value[at + 1 :])
            if way == 1:
                return (*value[:at], value[at], *value[at:])
            if way == 2:
                return tuple(reversed(value))
            return (*value[:at], self.mutate_value(value[at]), *value[at + 1 :])
        if type(value) is int and self.chance.random() < 0.7:
            return min(max(0, value + self.chance.choice((-1, 1, 2**32))), 2**64 - 1)
        if type(value) is bytes and value and self.chance.random() < 0.5:
            at = self.chance.randrange(len(value))
            return value[:at] + bytes([value[at] ^ 1]) + value[at + 1 :]
        return self.random_value()


_FORGED_OPERATIONS: list[tuple[Any, ...]] = [
    ("upsert", "skill-7", "1", "2"),
    ("delete", "skill-7", "1"),
    ("absorb", "skill-7", "1", "2", "skill-8", "1"),
    ("restore", bytes(32)),
    ("redact", "SOUL.md", bytes(32), "why"),
    ("task", "a run", "success"),
    ("import", "git", "x", ""),
    ("admit", "skill-7", "1", "1", bytes(32)),
    ("retire", "skill-7", "1", "", bytes(32)),
    ("bind", bytes(32), "x", bytes(32)),
    ("graft", 2**64 - 1, {"k": (b"",)}),
    ("snapshot",),
]


def _honest_snapshot(session: Session) -> Snapshot:
    head = session.head()
    parent = session.load_snapshot(head)
    return parent._replace(
        brain=session.brain_id(),
        parents=(head,),
        generation=parent.generation + 1,
        jump=lineage.next_jump(session.load_snapshot, head, parent),
        operation=("snapshot",),
        receipt=b"",
    )


def _commit_snapshot(session: Session, tx: Any, data: bytes) -> None:
    head = session.head()
    here = snapshots.snapshot_id(data)
    tx.put_object(ObjectKind.SNAPSHOT, here, data)
    name = f"heads/{session.current_branch()}"
    tx.update_ref(name, head, here)
    log_operation(session, tx, "snapshot", "forged", [(name, head, here)])


def forge_snapshot(forger: RowForger) -> None:
    """Put a snapshot on the head that differs from an honest one somewhere."""
    session = forger.open_session()
    value = unpack(snapshots.encode_snapshot(_honest_snapshot(session)))
    if forger.chance.random() < 0.7:
        done = forger.chance.choice(_FORGED_OPERATIONS)
        value = (*value[:8], done, *value[9:])
    for _ in range(forger.chance.randrange(3)):
        changed = forger.mutate_value(value)
        if type(changed) is tuple:
            value = changed
    forger.done.append(f"snapshot {value[3:]!r:.400}")
    with session.store.transaction() as tx:
        _commit_snapshot(session, tx, pack(value))
    session.close()


def forge_tree(forger: RowForger) -> None:
    """Put a snapshot on the head whose bundle or a node of it differs somewhere."""
    session = forger.open_session()
    honest = _honest_snapshot(session)._replace(operation=forger.chance.choice(_FORGED_OPERATIONS))
    bundle = session.load_state(honest.bundle)
    encoded = unpack(bundle.encode())
    with session.store.transaction() as tx:
        at = forger.chance.randrange(len(encoded))
        name, root, files, size = encoded[at]
        if forger.chance.random() < 0.7:
            node = unpack(session.store.read_object(ObjectKind.NODE, root))
            changed = forger.mutate_value(node)
            forger.done.append(f"node {changed!r:.200}")
            root = _forge_node(pack(changed), forger)
            tx.put_object(ObjectKind.NODE, root, pack(changed))
            encoded = (*encoded[:at], (name, root, files, size), *encoded[at + 1 :])
        else:
            encoded = forger.mutate_value(encoded)
        data = pack(encoded)
        forger.done.append(f"bundle {encoded!r:.200} of {honest.operation[0]}")
        try:
            here = bundles.bundle_id(bundles.decode_bundle(data))
        except BrainError:
            here = forger.chance.randbytes(32)
        tx.put_object(ObjectKind.BUNDLE, here, data)
        _commit_snapshot(session, tx, snapshots.encode_snapshot(honest._replace(bundle=here)))
    session.close()


def _forge_node(data: bytes, forger: RowForger) -> bytes:
    from brain.objects import tree_node as nodes

    try:
        found: TreeNode = nodes.decode_node(data)
        return found.id
    except BrainError:
        return forger.chance.randbytes(32)


def _connect_store(forger: RowForger) -> apsw.Connection:
    return apsw.Connection(str(forger.root / CONTROL_FOLDER / "store.db"))


def forge_object(forger: RowForger) -> None:
    """Change what stands under an id, with its checksum made anew; or take a row away."""
    db = _connect_store(forger)
    rows = list(db.execute("SELECT number, id, kind, data FROM objects"))
    number, id, kind, data = forger.chance.choice(rows)
    if forger.chance.random() < 0.2:
        db.execute("DELETE FROM objects WHERE number = ?", (number,))
        forger.done.append(f"no object {id.hex()}")
        return
    if forger.chance.random() < 0.2:
        kind = forger.chance.choice((0, 1, 2, 3, 4, 255))
    else:
        data = pack(forger.mutate_value(unpack(data)))
    forger.done.append(f"object {id.hex()} of kind {kind}")
    row = (kind, data, object_checksum(id, kind, data), number)
    db.execute("UPDATE objects SET kind = ?, data = ?, checksum = ? WHERE number = ?", row)


def forge_redaction(forger: RowForger) -> None:
    """Plant a redaction, take one away, or let it name another snapshot or blob."""
    db = _connect_store(forger)
    snapshots_ = [row[0] for row in db.execute("SELECT id FROM objects WHERE kind = 3")]
    blobs = [row[0] for row in db.execute("SELECT id FROM blobs")]
    blob = forger.chance.choice([*blobs, forger.chance.randbytes(32), b"", b"x" * 33])
    said = forger.chance.choice([*snapshots_, forger.chance.randbytes(32), blob, b""])
    way = forger.chance.randrange(4)
    forger.done.append(f"redaction {way} {blob.hex()} {said.hex()}")
    if way == 0:
        db.execute("DELETE FROM redactions")
        return
    if way == 1:
        seal = store_rows.row_checksum(blob, said)[: forger.chance.randrange(9)]
        db.execute("INSERT OR REPLACE INTO redactions VALUES (?, ?, ?)", (blob, said, seal))
        return
    row3 = (blob, said, store_rows.row_checksum(blob, said))
    db.execute("INSERT OR REPLACE INTO redactions VALUES (?, ?, ?)", row3)
    if way == 2:
        db.execute("DELETE FROM blobs WHERE id = ?", (blob,))


def forge_ref(forger: RowForger) -> None:
    """Move, add or remove a ref, with the seal made anew."""
    db = _connect_store(forger)
    known = dict(db.execute("SELECT name, value FROM facts"))
    known.pop(store_rows.SEAL_FACT, None)
    refs = [name for name in sorted(known) if name.startswith(store_rows.REF_PREFIX)]
    odd = ("tags/v1", "heads/\u202e", "", "heads/a/b", "x" * 5000)
    name = forger.chance.choice([*refs, store_rows.REF_PREFIX + forger.chance.choice(odd)])
    ids = [row[0] for row in db.execute("SELECT id FROM objects")]
    value = forger.chance.choice([*ids, b"", b"x", forger.chance.randbytes(32), bytes(64)])
    forger.done.append(f"ref {name[:40]!r} {value.hex()[:80]}")
    known[name] = value
    if forger.chance.random() < 0.15:
        del known[name]
    db.execute("DELETE FROM facts")
    known = dict(sorted(known.items()))
    for row in {**known, store_rows.SEAL_FACT: store_rows.facts_checksum(known)}.items():
        db.execute("INSERT INTO facts (name, value) VALUES (?, ?)", row)


def forge_operation(forger: RowForger) -> None:
    """Change an entry of the operation log, with the chain, its head and the mark made anew."""
    db = _connect_store(forger)
    rows = list(db.execute("SELECT number, data FROM operations ORDER BY number"))
    at = forger.chance.randrange(len(rows))
    changed = forger.mutate_value(unpack(rows[at][1]))
    forger.done.append(f"operation {rows[at][0]} {changed!r:.300}")
    rows[at] = (rows[at][0], pack(changed))
    here = b""
    for number, data in rows:
        here = reader.chain_operation_id(here, data)
        db.execute("UPDATE operations SET id = ?, data = ? WHERE number = ?", (here, data, number))
    known = dict(db.execute("SELECT name, value FROM facts"))
    known.pop(store_rows.SEAL_FACT, None)
    known = dict(
        sorted(
            {
                **known,
                store_rows.OPERATIONS_FACT: reader.encode_log_head(len(rows), here),
            }.items()
        )
    )
    db.execute("DELETE FROM facts")
    for row in {**known, store_rows.SEAL_FACT: store_rows.facts_checksum(known)}.items():
        db.execute("INSERT INTO facts (name, value) VALUES (?, ?)", row)
    (forger.root / CONTROL_FOLDER / "mark").unlink(missing_ok=True)


FORGE_FUNCTIONS: list[ForgeFunction] = [
    forge_snapshot, forge_snapshot, forge_tree, forge_object, forge_redaction, forge_ref,
    forge_operation,
]  # fmt: skip


def ask_everything(root: Path) -> None:
    """Ask a brain what a user would; raises what is no `BrainError`."""
    with suppress(BrainError), Brain.open(root) as brain:
        for ask in (
            brain.history.log,
            brain.skills.list,
            lambda: brain.skills.view("skill-7"),
            lambda: brain.history.diff("@~1", "@"),
            lambda: brain.proofs.prove_descent("@~2"),
            lambda: brain.restore("@~2", ["memory", "SOUL.md"]),
            lambda: brain.merge.start("idea"),
            lambda: list(brain.history.list_operations()),
            brain.undo,
            brain.redo,
            lambda: brain.snapshot("on"),
            lambda: brain.skills.upsert("skill 7", "on\n"),
            brain.gc,
        ):
            with suppress(BrainError):
                ask()


def forge_and_verify(base: Path, seed: int) -> tuple[list[str], bool]:
    """Forge a copy of a brain; return what was forged, and whether verification let it pass."""
    with tempfile.TemporaryDirectory(prefix="forged") as folder:
        root = Path(folder) / "agent"
        shutil.copytree(base, root)
        forger = RowForger(root, random.Random(seed))
        for _ in range(forger.chance.choice((1, 1, 2))):
            with suppress(BrainError):
                forger.chance.choice(FORGE_FUNCTIONS)(forger)
        found = verify_folder(root, forger.chance.random() < 0.3)
        assert found.ok == (not any(one.severity == "error" for one in found.findings))
        ask_everything(root)
        return forger.done, found.ok


def main() -> None:
    """Forge ROUNDS brains from SEED on, and tell how many passed verification."""
    seed, rounds = int(sys.argv[1]), int(sys.argv[2])
    passed = 0
    with tempfile.TemporaryDirectory() as folder:
        base = make_brain(Path(folder) / "agent")
        for number in range(seed, seed + rounds):
            sys.stdout.write(f"\rseed {number}, {passed} passed verification")
            sys.stdout.flush()
            passed += forge_and_verify(base, number)[1]
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
