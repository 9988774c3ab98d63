"""Commit what an agent learns, and let a third party check it: `commitment.py [FOLDER]`.

The ledger is the append-only log that needs no set-up. The third party is a process of its
own, in an empty folder, with no brain: it holds the evidence, the file it is about, and
the key of the log, which it knows from elsewhere.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from brain import Brain
from brain.chain.tlog.embedded_ledger import EmbeddedLedger

SKILL = "skills/oracle-manipulation/SKILL.md"


def main(folder: Path) -> None:
    """Learn, commit, hand over evidence, and see that a changed file is refused."""
    desk = folder / "third-party"
    desk.mkdir(parents=True)
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
        key = ledger.key
        assert brain.ledger.verify([ledger]).ok

    assert check(desk, key) == 0

    # Another text, or a log of another key, is refused.
    (desk / "SKILL.md").write_text("Trust the spot price.\n")
    assert check(desk, key) == 3
    (desk / "SKILL.md").write_bytes((folder / "auditor" / SKILL).read_bytes())
    assert check(desk, EmbeddedLedger(other_log(folder)).key) == 3


def other_log(folder: Path) -> Path:
    """Return the folder of a log of somebody else."""
    with (
        EmbeddedLedger(folder / "other-ledger") as other,
        Brain.init(folder / "other", author="other") as brain,
    ):
        brain.ledger.commit(other)
    return folder / "other-ledger"


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


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as scratch:
            main(Path(scratch))
