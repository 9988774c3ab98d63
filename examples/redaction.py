"""A password was learnt, and is forgotten for good: `python examples/redaction.py [FOLDER]`."""

import sys
import tempfile
from pathlib import Path

from brain import Brain, Conflict

NOTE = "Asked the staging server. The password is 5f1d-rubber-duck.\n"


def holders(folder: Path, text: str) -> list[Path]:
    """Return the files, those of the store too, that hold a text."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if text.encode() in path.read_bytes()]


def main(folder: Path) -> None:
    """Record a note with a password, destroy it, and show what is left."""
    with Brain.init(folder, name="auditor", author="scout") as brain:
        note = folder / "memory" / "2026-11-20.md"
        note.parent.mkdir(exist_ok=True)
        note.write_text(NOTE)
        brain.snapshot("Notes of the day")
        print(f"the password is in {len(holders(folder, NOTE))} files")

        done = brain.files.redact(
            "memory/2026-11-20.md", reason="it holds a password", history=True
        )
        print(f"redacted: {done.path}, now in {len(holders(folder, NOTE))} files")
        print(f"recorded: {brain.history.show().info.operation['reason']}")

        # The lineage still verifies, from the ids alone, and says what is missing in it.
        found = brain.verify(deep=True)
        print(f"verified: {found.ok}, {[finding.code for finding in found.findings]}")

        # Nobody gets it back, and it does not come back by itself.
        try:
            brain.undo()
        except Conflict as error:
            print(f"undo: {error.message}")
        note.write_text(NOTE)
        try:
            brain.snapshot("The same note again")
        except Conflict as error:
            print(f"refused: {error.code}")
        note.unlink()

        # What was tried and given up goes when the space is wanted.
        brain.skills.upsert("A bad idea", "Never mind.\n")
        brain.undo()
        print(f"collected: {brain.gc(grace=0).removed > 0}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as scratch:
            main(Path(scratch) / "auditor")
