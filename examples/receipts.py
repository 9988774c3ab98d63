"""Record the work behind a skill, and prove it: `python examples/receipts.py [FOLDER]`."""

import sys
import tempfile
from pathlib import Path

from brain import Brain

FIRST = "Check the age of the price.\n"
BETTER = "Check the age of the price, and compare two sources.\n"


def main(folder: Path) -> None:
    """Make a brain, improve a skill in a task, and ask why the skill is as it is."""
    with Brain.init(folder, name="auditor", author="scout") as brain:
        brain.skills.upsert("Oracle manipulation", FIRST, description="Check oracle freshness")

        with brain.task("Audit the vault", agent="scout", model="m-1") as task:
            task.record_skill_load("oracle-manipulation")
            task.record_tool_call("bash", {"cmd": "forge test"}, error="exit code 1", took=4200)
            task.record_tool_call("bash", {"cmd": "forge test --fork"}, "12 passed", took=5100)
            task.record_model_call(output="One source is not enough", tokens_in=812, tokens_out=95)
            task.upsert_skill("Oracle manipulation", BETTER)
            task.write_file("MEMORY.md", "The vault reads one source of prices.\n")

        found = brain.receipts.verify()
        assert found.ok, found.findings
        print(f"{found.steps} steps in {len(found.snapshots)} snapshots hold")

        (reason,) = brain.history.why("oracle-manipulation@2").versions
        work = reason.work
        assert work is not None
        print(f"version {reason.version} is of {work.agent}, who worked on: {work.task}")
        print(f"with {work.tools['bash']} calls of bash, {work.errors} failed; {work.outcome}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(Path(folder) / "auditor")
