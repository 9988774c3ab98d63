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
        brain.upsert_skill("Oracle manipulation", FIRST, description="Check oracle freshness")

        with brain.task("Audit the vault", agent="scout", model="m-1") as task:
            task.skill_load("oracle-manipulation")
            task.tool("bash", {"cmd": "forge test"}, error="exit code 1", took=4200)
            task.tool("bash", {"cmd": "forge test --fork"}, "12 passed", took=5100)
            task.llm(output="One source is not enough", tokens_in=812, tokens_out=95)
            task.upsert_skill("Oracle manipulation", BETTER)
            task.memory_write("MEMORY.md", "The vault reads one source of prices.\n")

        found = brain.verify_receipt()
        assert found.ok, found.findings
        print(f"{found.steps} steps in {len(found.snapshots)} snapshots hold")

        (reason,) = brain.why("oracle-manipulation@2").versions
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
