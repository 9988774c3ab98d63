#!/bin/bash
# The oracle: it knows the lesson.
exec python3 -I -S - <<'PY'
from __future__ import annotations


def _decimal_comma(files: Files, place: str, knows: bool) -> Answer:
    cents: dict[str, int] = {}
    for line in files[place].split()[1:]:
        region, amount = line.split(";")
        number = amount.replace(".", "").replace(",", ".") if knows else amount.split(",")[0]
        cents[region] = cents.get(region, 0) + round(float(number) * 100)
    return {"regions": sorted(cents), "total": sum(cents.values()), "largest": max(cents.values())}


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


write_answer(_decimal_comma(read_files(), "sales-jetty-989.csv", True))
PY
