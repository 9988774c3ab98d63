"""Count what one operation walks through: files and functions of brain, by `sys.setprofile`.

    python -m tests.bench.walks

Each operation is called once through the public surface, on an open brain of a few skills, after
a first call of its kind, so that what only the first call does (imports, caches) does not count.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType

import brain
from brain import Brain

PACKAGE = str(Path(brain.__file__).parent)
SKILL = "---\nname: {0}\ndescription: Does {0}.\n---\n# {0}\n\nStep {1}.\n"


def count_walk(operation: Callable[[], object]) -> tuple[int, int]:
    """Return the files and the functions of brain that an operation passes."""
    seen: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_name[0] != "<" and code.co_filename.startswith(PACKAGE):
            seen.add(code)

    sys.setprofile(note)
    try:
        operation()
    finally:
        sys.setprofile(None)
    return len({code.co_filename for code in seen}), len(seen)


def walk_all(folder: Path) -> dict[str, tuple[int, int]]:
    """Return the files and the functions of each operation, by its name."""
    walks: dict[str, tuple[int, int]] = {}
    with Brain.init(folder) as mind:
        for number in range(20):
            mind.skills.upsert(f"skill-{number}", SKILL.format(f"skill-{number}", 0))
        notes = folder / "notes.md"
        for turn in range(2):  # the second call of each is the one that counts
            text = SKILL.format("skill-3", turn + 1)
            walks["upsert"] = count_walk(lambda text=text: mind.skills.upsert("skill-3", text))
            notes.write_text(f"turn {turn}\n")
            walks["snapshot"] = count_walk(lambda: mind.snapshot("Take notes"))
            walks["diff"] = count_walk(lambda: mind.history.diff("@~1", "@"))
            side = f"side-{turn}"
            mind.branches.create(side)
            mind.branches.switch(side)
            mind.skills.upsert("skill-5", SKILL.format("skill-5", turn + 1))
            mind.branches.switch("main")
            mind.skills.upsert("skill-7", SKILL.format("skill-7", turn + 1))
            walks["merge"] = count_walk(lambda side=side: mind.merge.start(side))
            walks["undo"] = count_walk(mind.undo)
            walks["index"] = count_walk(mind.prompt.build_index)
    return walks


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        walks = walk_all(Path(folder, "mind"))
    print("| operation | files | functions |\n|---|---|---|")
    for name, (files, functions) in walks.items():
        print(f"| {name} | {files} | {functions} |")


if __name__ == "__main__":
    main()
