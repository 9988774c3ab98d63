#!/bin/bash
# The oracle: it knows the lesson.
exec python3 -I -S - <<'PY'
from __future__ import annotations


def _zones(files: Files, place: str, knows: bool) -> Answer:
    from datetime import datetime, timedelta

    rows = []
    for line in files[place].splitlines():
        text, user = line.split()
        time = datetime.fromisoformat(text)
        offset = time.utcoffset() if knows else None
        rows.append((time.replace(tzinfo=None) - (offset or timedelta()), user))
    rows.sort()
    return {
        "users": sorted({user for _, user in rows}),
        "order": [user for _, user in rows],
        "days": sorted({time.date().isoformat() for time, _ in rows}),
    }


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


write_answer(_zones(read_files(), "access-cedar-896.log", True))
PY
