"""Checking a proof needs little of the house, so that a stranger can rely on little."""

import subprocess
import sys

FLOORS = ("brain.proofs.", "brain.objects.")
GROUND = {
    "_version",
    "digest",
    "encoding",
    "errors",
    "limits",
    "merkle",
    "objects",
    "proofs",
    "util",
    "util.strict_json",
}


def test_checking_imports_only_objects_and_what_lies_below_them():
    code = "import sys; import brain.proofs.proof_verification; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, check=True)
    modules = done.stdout.decode().split()
    house = {name for name in modules if name.startswith("brain.")}
    assert {name for name in house if not name.startswith(FLOORS)} <= {f"brain.{n}" for n in GROUND}
    assert "brain.proofs.proof_builder" not in house
    foreign = {name.partition(".")[0] for name in modules} - set(sys.stdlib_module_names)
    assert {"blake3", "msgpack"} <= foreign
    assert not foreign & {"apsw", "click", "cryptography", "rich", "web3", "yaml"}
