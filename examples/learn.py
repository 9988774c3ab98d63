"""An agent learns, forgets, and goes back: `python examples/learn.py [FOLDER]`."""

import sys
import tempfile
from pathlib import Path

from brain import Brain


def main(folder: Path) -> None:
    """Make a brain in `folder`, teach it, and take some of it back."""
    with Brain.init(folder, name="learner", author="learner") as brain:
        first = brain.skills.upsert(
            "Oracle manipulation",
            "Compare the age of the price with the feed's heartbeat.\n",
            description="Check oracle freshness and prefer TWAP over spot price",
        )
        print(f"{first.slug} is at version {first.version}, bundle {first.bundle[:12]}")

        better = brain.skills.upsert(
            "oracle manipulation",
            "Compare the age of the price with the heartbeat. Prefer a TWAP.\n",
            message="A spot price was moved by a flash loan",
        )
        print(f"{better.slug} went {better.previous_version} → {better.version}")

        # Somebody edits the file by hand: the next upsert records that first.
        path = folder / better.path
        path.write_text(path.read_text("utf-8") + "Mind the sequencer.\n", "utf-8")
        brain.skills.upsert("oracle manipulation", "Everything anew.\n")
        for entry in brain.history.log():
            print(entry.snapshot[:12], entry.operation["kind"], entry.message)

        brain.skills.revert("oracle-manipulation", "2")
        print(brain.skills.view("oracle-manipulation").body.strip())

        brain.undo()
        print(brain.skills.view("oracle-manipulation").body.strip())
        print(brain.prompt.build_index().index)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as scratch:
            main(Path(scratch) / "learner")
