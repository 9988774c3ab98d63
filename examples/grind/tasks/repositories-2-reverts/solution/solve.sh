#!/bin/bash
# The oracle: it knows the lesson.
exec python3 -I -S - <<'PY'
from __future__ import annotations


def _reverts(files: Files, place: str, knows: bool) -> Answer:
    subjects = files[place].splitlines()
    kept: list[str] = []
    for subject in subjects:
        if not subject.startswith("Revert "):
            kept.append(subject)
        elif knows:
            kept.remove(subject.split('"')[1])
    return {"first": subjects[0], "changes": kept, "last": kept[-1]}


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


write_answer(_reverts(read_files(), "commits-maple-501.txt", True))
PY
