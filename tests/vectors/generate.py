"""Writes the golden vectors: `python -m tests.vectors.generate`.

One JSON file per family, one vector per line; running it twice gives the same
bytes. docs/FORMAT.md says what the kinds of vectors mean.
"""

import json
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path

from tests.vectors.families import (
    accounts,
    badtrees,
    bundles,
    changes,
    evidence,
    gates,
    hashes,
    lineages,
    logs,
    names,
    nodes,
    proofs,
    receipts,
    rights,
    signatures,
    snapshots,
    trees,
    values,
    verdicts,
)
from tests.vectors.families.vector import Vector

HERE = Path(__file__).parent

FAMILIES: dict[str, Callable[[], Iterable[Vector]]] = {
    "msgpack": values.vectors,
    "hashes": hashes.vectors,
    "nodes": nodes.vectors,
    "trees": trees.vectors,
    "bad-trees": badtrees.vectors,
    "bundles": bundles.vectors,
    "confusion": bundles.confusions,
    "snapshots": snapshots.vectors,
    "lineages": lambda: chain(snapshots.lineages(), lineages.merges()),
    "redactions": lineages.redactions,
    "changes": changes.vectors,
    "paths": names.vectors,
    "proofs": proofs.vectors,
    "signatures": signatures.vectors,
    "signature-records": signatures.records,
    "equivocations": signatures.equivocations,
    "trust": rights.vectors,
    "rights": rights.lineages,
    "entries": logs.entries,
    "inclusions": logs.inclusions,
    "consistencies": logs.consistencies,
    "evidence": evidence.vectors,
    "accounts": accounts.vectors,
    "receipts": receipts.vectors,
    "verdicts": verdicts.vectors,
    "gates": gates.vectors,
}


def render(family: str) -> str:
    """Return the text of the file of one family."""
    lines = [json.dumps(vector, ensure_ascii=True) for vector in FAMILIES[family]()]
    return "[\n" + ",\n".join(lines) + "\n]\n"


def main() -> None:
    """Write all files."""
    for family in FAMILIES:
        (HERE / f"{family}.json").write_text(render(family), encoding="ascii")


if __name__ == "__main__":
    main()
