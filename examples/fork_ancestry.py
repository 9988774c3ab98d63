"""A fork whose ancestry a third party checks offline: `python examples/fork_ancestry.py [FOLDER]`.

The third party is a process of its own, in an empty folder. All it holds is the proof, and
the two ids it knows from elsewhere.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from brain import Brain

THIRD_PARTY = """\
import sys
from brain import check_proof

file, child, parent = sys.argv[1:]
with open(file, "rb") as source:
    proof = check_proof(source.read(), brain=child)
if not proof.ok or proof.ancestor_brain != parent:
    sys.exit(f"it descends from {proof.ancestor_brain}")
print(f"brain {child[:12]} descends from brain {parent[:12]}")
"""


def main(folder: Path) -> None:
    """Let a brain learn, fork it, let the fork learn, and prove where the fork comes from."""
    with Brain.init(folder / "parent", author="teacher") as parent:
        parent.skills.upsert("Oracle manipulation", "Check freshness.\n", description="Oracles")
        taught = parent.head
        parent.skills.upsert("Bridge review", "Count the validators.\n", description="Bridges")
        parent.fork(folder / "child")
        parent.skills.upsert("Bridge review", "Count the signers too.\n")

    with Brain.open(folder / "child", author="pupil") as child:
        child.skills.upsert("Oracle manipulation", "Compare two sources.\n")
        proof = child.proofs.prove_descent(taught)

    desk = folder / "third-party"
    desk.mkdir()
    (desk / "descent.json").write_bytes(proof)
    print(f"a proof of {len(proof)} bytes")
    assert ask(desk, child.id, parent.id) == 0

    # The brains the wrong way round, or a proof with a link left out, are refused.
    assert ask(desk, parent.id, child.id) != 0
    forged = json.loads(proof)
    del forged["chain"][1]
    (desk / "descent.json").write_text(json.dumps(forged))
    assert ask(desk, child.id, parent.id) != 0


def ask(desk: Path, child: str, parent: str) -> int:
    """Let a third party, who has nothing but what is on the desk, check the proof."""
    call = [sys.executable, "-c", THIRD_PARTY, "descent.json", child, parent]
    done = subprocess.run(call, cwd=desk, capture_output=True, text=True, check=False)
    print(done.stdout.strip() or "refused: " + done.stderr.strip().splitlines()[-1])
    return done.returncode


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as scratch:
            main(Path(scratch))
