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
    decided = [
        (
            batch["first_passed"],
            batch["gate"] and batch["gate"]["slug"],
            batch["gate"] and batch["gate"]["done"],
        )
        for batch in report["batches"]
    ]
    live = ["data-files", "log-forensics", "repositories", "small-programs", "text"]
    wanted = [row for slug in live for row in ((0, slug, "provisional"), (4, None, None))]
    wanted[4:6] = [(0, "repositories", "rejected"), (0, "repositories", "provisional")]
    assert decided == wanted
    compared = report["compare"]
    assert (compared["wins"], compared["losses"], compared["ties"]) == (24, 0, 0)
    with Brain.open(tmp_path / "brain") as brain:
        lines = brain.prompt.build_index().index.splitlines()
    assert [line.partition(":")[0] for line in lines] == [f"▸ {slug}" for slug in live]
    assert "repositories" in (tmp_path / "brain.html").read_text("utf-8")
