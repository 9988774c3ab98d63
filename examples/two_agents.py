"""Two agents learn in parallel and merge: `python examples/two_agents.py [FOLDER]`."""

import sys
import tempfile
from pathlib import Path

from brain import Brain

BODY = """\
Check the age of the price.

Compare two sources.

Pause when in doubt.
"""


def note(brain: Brain, line: str) -> None:
    """Append a record to the memory of what happened."""
    log = brain.root / "memory" / "events.jsonl"
    log.parent.mkdir(exist_ok=True)
    with log.open("a") as file:
        file.write(line + "\n")


def main(folder: Path) -> None:
    """Make a brain, let two agents change the same skill and memory, and merge them."""
    with Brain.init(folder, name="team", author="scout") as brain:
        brain.skills.upsert("Oracle manipulation", BODY, description="Check oracle freshness")
        note(brain, '{"ts": 1, "event": "started"}')
        brain.snapshot("start")

        # One agent goes its own way on a branch ...
        brain.branches.create("night-shift")
        brain.branches.switch("night-shift")
        brain.skills.upsert("Oracle manipulation", BODY.replace("two sources", "three sources"))
        brain.skills.upsert(
            "Bridge review", "Count the validators.\n", description="Review bridges"
        )
        note(brain, '{"ts": 3, "event": "night: a feed was stale"}')
        brain.snapshot("night shift")

        # ... while the other one learns on main.
        brain.branches.switch("main")
        brain.skills.upsert("Oracle manipulation", BODY.replace("the price", "every price"))
        note(brain, '{"ts": 2, "event": "day: all quiet"}')
        brain.snapshot("day shift")

        merged = brain.merge.start("night-shift")
        assert not merged.conflicts
        for skill in merged.skills:
            print(f"{skill.slug}: {skill.ours} and {skill.theirs} became {skill.version}")
        print(brain.skills.view("oracle-manipulation").body.strip())
        print((brain.root / "memory" / "events.jsonl").read_text().strip())

        # What both changed in the same line is asked about, and nothing moves meanwhile.
        brain.branches.switch("night-shift")
        brain.skills.upsert("Bridge review", "Count the signers.\n")
        brain.branches.switch("main")
        brain.skills.upsert("Bridge review", "Count the owners.\n")
        head = brain.head
        (conflict,) = brain.merge.start("night-shift").conflicts
        assert brain.head == head
        print(f"{conflict.path} needs a decision: {conflict.reason}")
        brain.merge.resolve([conflict.path], "both")
        brain.merge.resume()
        print(brain.skills.view("bridge-review").body.strip())
        assert brain.verify(deep=True).ok


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as scratch:
            main(Path(scratch) / "team")
