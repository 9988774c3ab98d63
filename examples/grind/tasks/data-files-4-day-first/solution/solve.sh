#!/bin/bash
# The oracle: it knows the lesson.
exec python3 -I -S - <<'PY'
from __future__ import annotations


def _day_first(files: Files, place: str, knows: bool) -> Answer:
    dates = {}
    for line in files[place].split()[1:]:
        order, date = line.split(",")
        day, month, year = date.split("/") if knows else (date[3:5], date[:2], date[6:])
        dates[order] = f"{year}-{month}-{day}"
    return {"orders": sorted(dates), "dates": dates, "first": min(dates.values())}


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


write_answer(_day_first(read_files(), "orders-north-540.csv", True))
PY
