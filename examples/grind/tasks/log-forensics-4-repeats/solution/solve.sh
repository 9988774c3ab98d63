#!/bin/bash
# The oracle: it knows the lesson.
exec python3 -I -S - <<'PY'
from __future__ import annotations


def _repeats(files: Files, place: str, knows: bool) -> Answer:
    counts: dict[str, int] = {}
    last = ""
    for line in files[place].splitlines():
        if not line.startswith("last message repeated"):
            last = line
            counts[last] = counts.get(last, 0) + 1
        elif knows:
            counts[last] += int(line.split()[3])
    errors = sum(count for line, count in counts.items() if line.startswith("error"))
    return {"kinds": sorted(counts), "counts": counts, "errors": errors}


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


write_answer(_repeats(read_files(), "system-maple-997.log", True))
PY
