#!/bin/bash
# The oracle: it knows the lesson.
exec python3 -I -S - <<'PY'
from __future__ import annotations


def _steps(files: Files, place: str, knows: bool) -> Answer:
    import json

    needs = json.loads(files[place])
    waiting = {
        name: {other for other in others if not knows or other in needs}
        for name, others in needs.items()
    }
    done: list[str] = []
    while ready := sorted(
        name for name in needs if name not in done and waiting[name] <= set(done)
    ):
        done.append(ready[0])
    return {"listed": list(needs), "done": done, "left": sorted(set(needs) - set(done))}


def read_files() -> Files:
    """Return the texts below the current folder by their paths."""
    import os

    files = {}
    for folder, _, names in os.walk("."):
        for name in names:
            path = os.path.normpath(os.path.join(folder, name))
            with open(path, encoding="utf-8", errors="replace") as file:
                files[path] = file.read()
    return files


def write_answer(answer: Answer) -> None:
    """Write what was found to `answer.json`."""
    import json

    with open("answer.json", "w", encoding="utf-8") as file:
        json.dump(answer, file)


write_answer(_steps(read_files(), "steps-fjord-622.json", True))
PY
