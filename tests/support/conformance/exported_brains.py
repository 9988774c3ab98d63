"""A brain with a long history, and a brain exported for a reader of the format alone.

The folder has five files. `snapshots` has the head and its ancestors, descendants first; `nodes`,
`bundles`, `blobs` and `signatures` have what their names say, each item behind its length in four
bytes, most significant first.
No id is in any of them: each follows from the bytes.
"""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from brain import Brain
from brain.objects import lineage
from brain.objects.snapshot import encode_snapshot
from brain.store.rows import ObjectKind
from brain.trust.signature_format import KeySignature, format_key
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
