#!/bin/bash
# The oracle: it knows the lesson.
exec python3 -I -S - <<'PY'
from __future__ import annotations


def _fences(files: Files, place: str, knows: bool) -> Answer:
    titles, inside = [], False
    for line in files[place].splitlines():
        if line.startswith("```"):
            inside = not inside
        elif line.startswith("#") and not (inside and knows):
            titles.append(line.strip("# "))
    return {"first": titles[0], "titles": titles, "count": len(titles)}


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


write_answer(_fences(read_files(), "guide-delta-481.md", True))
PY
