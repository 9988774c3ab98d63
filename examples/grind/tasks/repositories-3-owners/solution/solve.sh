#!/bin/bash
# The oracle: it knows the lesson.
exec python3 -I -S - <<'PY'
from __future__ import annotations


def _owners(files: Files, place: str, knows: bool) -> Answer:
    rules = [line.split() for line in files["OWNERS"].splitlines()]
    found = {}
    for path in files[place].split():
        fits = [owner for pattern, owner in rules if pattern == "*" or path.startswith(pattern)]
        found[path] = fits[-1] if knows else fits[0]
    return {"paths": sorted(found), "owners": found, "people": sorted(set(found.values()))}


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


write_answer(_owners(read_files(), "changed-heron-410.txt", True))
PY
