#!/bin/bash
# The oracle: it knows the lesson.
exec python3 -I -S - <<'PY'
from __future__ import annotations


def _hyphens(files: Files, place: str, knows: bool) -> Answer:
    text = files[place]
    lines = text.count("\n")
    if knows:
        text = text.replace("-\n", "")
    words = text.replace("-", " ").split()
    counts = {word: words.count(word) for word in sorted(set(words))}
    return {"lines": lines, "words": len(words), "counts": counts}


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


write_answer(_hyphens(read_files(), "page-maple-348.txt", True))
PY
