#!/bin/bash
# The oracle: it knows the lesson.
exec python3 -I -S - <<'PY'
from __future__ import annotations


def _latest_record(files: Files, place: str, knows: bool) -> Answer:
    import json

    rows = [json.loads(line) for line in files[place].splitlines()]
    if knows:
        rows.sort(key=lambda row: row["updated"])
    counts = {row["id"]: row["count"] for row in rows}
    return {"ids": sorted(counts), "counts": counts, "sum": sum(counts.values())}


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


write_answer(_latest_record(read_files(), "records-inlet-704.jsonl", True))
PY
