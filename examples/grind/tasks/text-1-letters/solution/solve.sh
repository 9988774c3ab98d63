#!/bin/bash
# The oracle: it knows the lesson.
exec python3 -I -S - <<'PY'
from __future__ import annotations


def _letters(files: Files, place: str, knows: bool) -> Answer:
    import unicodedata

    names = files[place].split()
    if knows:
        names = [unicodedata.normalize("NFC", name) for name in names]
    most = max(names.count(name) for name in names)
    return {"lines": len(names), "different": len(set(names)), "most": most}


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


write_answer(_letters(read_files(), "names-maple-669.txt", True))
PY
