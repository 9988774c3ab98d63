#!/bin/bash
# The oracle: it knows the lesson.
exec python3 -I -S - <<'PY'
from __future__ import annotations


def _continued(files: Files, place: str, knows: bool) -> Answer:
    lines = files[place].splitlines()
    messages = [line for line in lines if not (knows and line.startswith(" "))]
    errors = [line for line in messages if line.startswith("error")]
    return {"errors": len(errors), "messages": len(messages), "others": len(messages) - len(errors)}


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


write_answer(_continued(read_files(), "service-ember-454.log", True))
PY
