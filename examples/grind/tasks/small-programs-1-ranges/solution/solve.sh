#!/bin/bash
# The oracle: it knows the lesson.
exec python3 -I -S - <<'PY'
from __future__ import annotations


def _ranges(files: Files, place: str, knows: bool) -> Answer:
    ends = [[int(end) for end in line.split("-")] for line in files[place].split()]
    pages = {page for low, high in ends for page in range(low, high + knows)}
    return {"ranges": len(ends), "pages": len(pages), "highest": max(pages)}


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


write_answer(_ranges(read_files(), "ranges-cedar-384.txt", True))
PY
