#!/bin/bash
# The oracle: it knows the lesson.
exec python3 -I -S - <<'PY'
from __future__ import annotations


def _rotated(files: Files, place: str, knows: bool) -> Answer:
    ends = (".2", ".1", "") if knows else ("", ".1", ".2")
    rows = [line.split() for end in ends for line in files[place + end].splitlines()]
    who = [user for word, user in rows if word == "FAIL"]
    return {"rows": len(rows), "fails": len(who), "who": who, "last": who[-1]}


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


write_answer(_rotated(read_files(), "app-ember-976.log", True))
PY
