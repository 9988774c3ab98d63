#!/bin/bash
# The oracle: it knows the lesson.
exec python3 -I -S - <<'PY'
from __future__ import annotations


def _generated(files: Files, place: str, knows: bool) -> Answer:
    texts = {name: text for name, text in files.items() if name.startswith(f"{place}/")}
    own = sorted(name for name, text in texts.items() if not knows or "DO NOT EDIT" not in text)
    lengths = {name: texts[name].count("\n") for name in own}
    return {"files": sorted(texts), "own": own, "longest": max(own, key=lambda name: lengths[name])}


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


write_answer(_generated(read_files(), "src-maple-947", True))
PY
