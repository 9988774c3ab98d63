#!/bin/bash
# The oracle: it knows the lesson.
exec python3 -I -S - <<'PY'
from __future__ import annotations


def _money(files: Files, place: str, knows: bool) -> Answer:
    import json
    from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal

    prices = [Decimal(price) * 100 for price in json.loads(files[place])]
    mode = ROUND_HALF_UP if knows else ROUND_HALF_EVEN
    cents = [int(price.quantize(Decimal(1), mode)) for price in prices]
    return {"count": len(cents), "cents": cents, "sum": sum(cents)}


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


write_answer(_money(read_files(), "prices-jetty-460.json", True))
PY
