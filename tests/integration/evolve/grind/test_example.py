"""The whole example, by its one command: what is learned helps, and what harms is refused."""

import json
import os
import subprocess
import sys
from pathlib import Path

from brain import Brain

EXAMPLE = Path(__file__).parents[4] / "examples/grind"


def test_what_helps_goes_live_and_what_harms_is_rejected(tmp_path):
    program = Path(sys.executable).with_name("brain")
    command = [EXAMPLE / "run", tmp_path / "brain", "--json"]
    done = subprocess.run(
        command,
        env={**os.environ, "BRAIN": str(program)},
        check=True,
        stdout=subprocess.PIPE,
    )
    report = json.loads(done.stdout)
    practice = [task for task in report["tasks"] if task["split"] == "practice"]
    assert {task["result"] for task in practice} == {"passed"} and len(practice) == 40
    assert not any(task["cycles"][0]["passed"] for task in practice)
    decided = {batch["gate"]["slug"]: batch["gate"]["done"] for batch in report["batches"]}
    assert decided.pop("repositories") == "rejected"
    assert set(decided.values()) == {"provisional"} and len(decided) == 4
    compared = report["compare"]
    assert compared["losses"] == 0 and compared["wins"] >= 10
    with Brain.open(tmp_path / "brain") as brain:
        index = brain.prompt.build_index().index
    assert [line.split(":")[0] for line in index.splitlines()] == [
        f"▸ {one}" for one in sorted(decided)
    ]
    assert "<html" in (tmp_path / "brain.html").read_text("utf-8")[:200]
