"""What was measured, kept as JSON beside the report, so that a run of some rows adds to it.

A run replaces the rows that it measured and leaves every other row as it was. Rows measured on
another machine, or on brains of another shape, are never mixed with new ones.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.bench.goals import Results
from tests.bench.timing import Sample, Series

_MEASURES = ("wall", "cpu", "rss", "stored")


class OtherConditions(Exception):
    """The record was made under other conditions; the message says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What has to be the same for two runs to stand in one report."""

    machine: str
    memory_mb: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of one brain: the median of each contestant, and how often it was run."""

    repeats: int
    contestants: Mapping[str, Series]


Rows = dict[tuple[str, int], dict[str, Row]]
"""Layout and number of skills, to name of the row, to what was measured."""


@dataclass(slots=True, kw_only=True)
class Record:
    """Everything measured so far under one set of conditions."""

    conditions: Conditions
    rows: Rows = field(default_factory=dict)

    def add(self, results: Results, repeats: int) -> None:
        """Put the rows of a run in the place of those of the same name."""
        for brain, measured in results.items():
            rows = self.rows.setdefault(brain, {})
            for name, contestants in measured.items():
                rows[name] = Row(repeats=repeats, contestants=contestants)

    def results(self) -> Results:
        """Return all rows as the goals are judged by."""
        return {
            brain: {name: row.contestants for name, row in rows.items()}
            for brain, rows in self.rows.items()
        }

    def save(self, path: Path) -> None:
        """Write the record as JSON, medians only."""
        document = {
            "conditions": asdict(self.conditions),
            "rows": [
                {
                    "layout": layout,
                    "skills": skills,
                    "row": name,
                    "repeats": row.repeats,
                    "contestants": {
                        contestant: _encode(series)
                        for contestant, series in row.contestants.items()
                    },
                }
                for (layout, skills), rows in sorted(self.rows.items())
                for name, row in sorted(rows.items())
            ],
        }
        path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def load_record(path: Path, conditions: Conditions) -> Record:
    """Return the record kept at `path`, an empty one where there is none.

    Raises `OtherConditions` if it was made on another machine or with another memory file.
    """
    record = Record(conditions=conditions)
    if not path.exists():
        return record
    document = json.loads(path.read_text("utf-8"))
    then = Conditions(**document["conditions"])
    if then != conditions:
        raise OtherConditions(
            f"{path.name} was measured under other conditions ({then.machine}, memory file of"
            f" {then.memory_mb} MB): name another file with OUT, or remove this one"
        )
    for line in document["rows"]:
        brain = record.rows.setdefault((line["layout"], line["skills"]), {})
        brain[line["row"]] = Row(
            repeats=line["repeats"],
            contestants={name: _decode(one) for name, one in line["contestants"].items()},
        )
    return record


def _encode(series: Series) -> dict[str, Any]:
    if series.failure:
        return {"failure": series.failure}
    return {measure: series.median(measure) for measure in _MEASURES}


def _decode(medians: dict[str, Any]) -> Series:
    if "failure" in medians:
        return Series([], medians["failure"])
    sizes = {measure: int(medians[measure]) for measure in ("rss", "stored")}
    return Series([Sample(wall=medians["wall"], cpu=medians["cpu"], **sizes)])
