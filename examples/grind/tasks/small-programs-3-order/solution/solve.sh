#!/bin/bash
# The oracle: it knows the lesson.
exec python3 -I -S - <<'PY'
from __future__ import annotations


def _order(files: Files, place: str, knows: bool) -> Answer:
    names = files[place].split()
    sorted_names = sorted(names, key=lambda name: int(name.split("-")[1]) if knows else name)
    return {"listed": names, "order": sorted_names, "last": sorted_names[-1]}


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


write_answer(_order(read_files(), "builds-birch-271.txt", True))
PY
