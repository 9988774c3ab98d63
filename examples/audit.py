"""An auditor checks a brain offline: `python examples/audit.py [FOLDER]`.

Prints what changed in each snapshot, in words, and whether the lineage verifies.
Ends with status 3 if it does not.
"""

import sys
import tempfile
from pathlib import Path

from brain import Brain


def audit(folder: Path) -> bool:
    """Print the lineage in words and tell whether it verifies."""
    with Brain.open(folder) as brain:
        for entry in brain.history.log():
            changes = []
            if entry.parents:
                diff = brain.history.diff(entry.parents[0], entry.snapshot)
                changes = [
                    f"{skill.slug} {skill.change} {skill.from_version} → {skill.to_version}"
                    for skill in diff.skills
                ]
            print(entry.snapshot[:12], entry.author, entry.operation["kind"], *changes, sep="  ")
        found = brain.verify(deep=True)
        for finding in found.findings:
            print(f"{finding.severity}: {finding.code}: {finding.path} {finding.message}")
        print("verified" if found.ok else "NOT VERIFIED", found.snapshots, "snapshots")
        return found.ok


def example(folder: Path) -> None:
    """Make a brain to audit."""
    with Brain.init(folder, author="agent") as brain:
        brain.skills.upsert("Reentrancy", "Look for calls before writes.\n", description="Calls")
        brain.skills.upsert("Reentrancy", "Also look at read-only reentrancy.\n")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(0 if audit(Path(sys.argv[1])) else 3)
    with tempfile.TemporaryDirectory() as scratch:
        example(Path(scratch) / "agent")
        sys.exit(0 if audit(Path(scratch) / "agent") else 3)
