"""Somebody checks a brain offline, then one file of it without the brain: `audit.py [FOLDER]`.

1. The owner commits each version to a log, which needs no set-up, and hands over evidence.
2. An auditor who has the brain reads its lineage in words and verifies it.
3. A third party has no brain: it holds the evidence, the file, and the key of the log, which
   it knows from elsewhere. Another text, or the log of somebody else, is refused.
4. A fork proves its descent to somebody who knows the two snapshots alone.

With the folder of a brain, only step 2 is done; status 3 if it does not verify.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from brain import Brain, BrainError, check_proof
from brain.chain.tlog.embedded_ledger import EmbeddedLedger

SKILL = "skills/oracle-manipulation/SKILL.md"


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


def commit(folder: Path, desk: Path) -> str:
    """Learn and commit, put evidence on the desk, and return the key of the log."""
    with (
        EmbeddedLedger(folder / "ledger") as ledger,
        Brain.init(folder / "auditor", author="auditor") as brain,
    ):
        for text in ("Check freshness.\n", "Check freshness, and prefer TWAP.\n"):
            done = brain.skills.upsert("Oracle manipulation", text, description="Oracles")
            commitment = brain.ledger.commit(ledger)
            print(f"version {done.version} is commitment {commitment.seq}")
        (desk / "evidence.json").write_bytes(brain.ledger.build_evidence(ledger, path=SKILL))
        (desk / "SKILL.md").write_bytes((brain.root / SKILL).read_bytes())
        return ledger.key


def check(desk: Path, key: str) -> int:
    """Let a third party, who has nothing but what is on the desk, check the evidence."""
    call = [sys.executable, "-m", "brain.chain.check", "evidence.json"]
    call += ["--content", "SKILL.md", "--log-key", key, "--json"]
    done = subprocess.run(call, cwd=desk, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        print(json.loads(done.stdout)["claim"])
    else:
        print("refused: " + json.loads(done.stderr)["error"]["message"])
    return done.returncode


def other_log(folder: Path) -> str:
    """Return the key of a log of somebody else."""
    with EmbeddedLedger(folder / "log") as other, Brain.init(folder / "other") as brain:
        brain.ledger.commit(other)
        return other.key


def descend(folder: Path) -> None:
    """Fork the brain, and prove that the fork descends from it."""
    with Brain.open(folder / "auditor") as brain:
        origin, parent = brain.head, brain.id
        brain.fork(folder / "child")
    with Brain.open(folder / "child", author="pupil") as child:
        child.skills.upsert("Oracle manipulation", "Compare two sources.\n")
        proof = child.proofs.prove_descent(origin)
        head, own = child.head, child.id
    found = check_proof(proof, snapshot=head)
    assert found.ok and found.ancestor_brain == parent
    print(f"{len(proof)} bytes prove that {own[:12]} descends from brain {parent[:12]}")
    try:
        check_proof(proof, snapshot=origin)
    except BrainError as error:
        print(f"refused: {error.code}")


def main(folder: Path) -> bool:
    """Do all four steps in `folder`."""
    desk = folder / "third-party"
    desk.mkdir(parents=True)
    key = commit(folder, desk)
    verified = audit(folder / "auditor")
    assert check(desk, key) == 0
    assert check(desk, other_log(folder)) == 3
    (desk / "SKILL.md").write_text("Trust the spot price.\n")
    assert check(desk, key) == 3
    descend(folder)
    return verified


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(0 if audit(Path(sys.argv[1])) else 3)
    with tempfile.TemporaryDirectory() as scratch:
        sys.exit(0 if main(Path(scratch)) else 3)
