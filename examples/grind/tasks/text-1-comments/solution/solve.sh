#!/bin/bash
# The oracle: it knows the lesson.
exec python3 -I -S - <<'PY'
from __future__ import annotations


def _comments(files: Files, place: str, knows: bool) -> Answer:
    values = {}
    for line in files[place].splitlines():
        if not line.startswith("#"):
            name, rest = line.split(" = ", 1)
            values[name] = rest.split('"')[1] if knows else rest.split("#")[0].strip(' "')
    return {"names": sorted(values), "values": values, "longest": max(map(len, values.values()))}


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


write_answer(_comments(read_files(), "app-inlet-663.conf", True))
PY
