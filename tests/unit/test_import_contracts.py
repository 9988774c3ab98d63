"""The floors of the house: who may import whom."""

import subprocess
import sys
from pathlib import Path

import pytest

BREACHES = {
    "floors": ("errors.py", "from . import digest"),
    "verifier": ("verify/tree_check.py", "from ..repo import lineage_cache"),
    "no-terminal": ("limits.py", "import rich"),
    "sqlite": ("objects/tree_cache.py", "import apsw"),
    "yaml": ("digest.py", "def f() -> None:\n    import yaml"),
    "signing": ("trust/signer.py", "import cryptography"),
    "chain": ("chain/evm/tx_sender.py", "def f() -> None:\n    import web3"),
}


def lint(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    # The folder comes before the installed packages, so a copy is what is read.
    code = "import sys; from importlinter.cli import lint_imports_command as c; c()"
    return subprocess.run(
        [sys.executable, "-c", code, "--no-cache", "--no-logo", *options],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_every_module_imports_only_the_floors_below_it(project):
    outcome = lint(project)
    assert outcome.returncode == 0, outcome.stdout


@pytest.mark.parametrize("contract", BREACHES)
def test_a_breach_of_each_contract_is_found(contract, source_copy):
    file, line = BREACHES[contract]
    (source_copy / "cli").rename(source_copy / "brain_cli")
    module = source_copy / "brain" / file
    module.write_text((module.read_text() if module.exists() else "") + f"\n{line}\n")
    outcome = lint(source_copy, "--contract", contract)
    assert outcome.returncode == 1, outcome.stdout
    assert "BROKEN" in outcome.stdout
