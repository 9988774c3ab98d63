"""An agent learns, is recorded, and goes back: `python examples/quickstart.py [FOLDER]`."""

import sys
import tempfile
from pathlib import Path

from brain import Brain


def main(folder: Path) -> None:
    """Make a brain in `folder`, teach it, and take some of it back."""
    with Brain.init(folder, name="learner", author="learner") as brain:
        # 1. A write by its name is a version and a snapshot.
        first = brain.skills.upsert(
            "Oracle manipulation",
            "Compare the age of the price with the feed's heartbeat.\n",
            description="Check oracle freshness and prefer TWAP over spot price",
        )
        print(f"{first.slug} is at version {first.version}, bundle {first.bundle[:12]}")

        # 2. What was done for it is part of the snapshot, which `brain why` shows.
        with brain.task("Audit the vault", agent="learner", model="m-1") as task:
            task.record_tool_call("bash", {"cmd": "forge test"}, "12 passed", took=4200)
            better = task.upsert_skill(
                "Oracle manipulation", "Compare the age of the price. Prefer a TWAP.\n"
            )
        print(f"{better.slug} went {better.previous_version} → {better.version}")
        (reason,) = brain.history.why("oracle-manipulation@2").versions
        assert reason.work
        print(f"version {reason.version} is of {reason.work.agent}: {reason.work.task}")

        # 3. Somebody edits the file by hand: the next write records that first.
        path = folder / better.path
        path.write_text(path.read_text("utf-8") + "Mind the sequencer.\n", "utf-8")
        brain.skills.upsert("oracle manipulation", "Everything anew.\n")
        for entry in brain.history.log():
            print(entry.snapshot[:12], entry.operation["kind"], entry.message)

        # 4. That is taken back: the file is again as they left it, and the history verifies.
        brain.undo()
        print(path.read_text("utf-8").rpartition("---")[2].strip())
        assert brain.verify(deep=True).ok
        print(brain.prompt.build_index().index)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as scratch:
            main(Path(scratch) / "learner")
