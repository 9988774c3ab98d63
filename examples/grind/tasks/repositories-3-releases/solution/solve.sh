#!/bin/bash
# The oracle: it knows the lesson.
exec python3 -I -S - <<'PY'
from __future__ import annotations


def _releases(files: Files, place: str, knows: bool) -> Answer:
    tags = files[place].split()
    order = sorted(tags, key=lambda tag: (tag.split("-")[0], "-" not in tag) if knows else tag)
    return {"listed": tags, "order": order, "last": order[-1]}


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


write_answer(_releases(read_files(), "tags-birch-86.txt", True))
PY
