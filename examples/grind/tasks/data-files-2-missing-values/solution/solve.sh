#!/bin/bash
# The oracle: it knows the lesson.
exec python3 -I -S - <<'PY'
from __future__ import annotations


def _missing_values(files: Files, place: str, knows: bool) -> Answer:
    rows = [line.split(",") for line in files[place].split()[1:]]
    degrees = [int(value) for _, value in rows if not knows or int(value) != -99]
    return {
        "stations": len(rows),
        "coldest": min(degrees),
        "mean": round(sum(degrees) / len(degrees), 3),
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


write_answer(_missing_values(read_files(), "weather-north-941.csv", True))
PY
