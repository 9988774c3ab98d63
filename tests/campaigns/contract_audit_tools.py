"""Install slither and halmos, and run them on BrainRegistry or on a changed source of it.

Both read what `forge build` writes. That is written here by the compiler of the project, so forge
is not needed: a program of that name, which the tools start, does nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.chain import contract_compiler

PROPERTIES_FILE = Path(contract_compiler.__file__).parent / "audit" / "RegistryProperties.sol"
PROPERTIES_CONTRACT = "RegistryProperties"
PACKAGES = ("slither-analyzer==0.11.6", "halmos==0.3.3")
DEFAULT_TOOLS = Path(sys.prefix) / "contract-audit"
"""Beside this Python, as the compiler is."""

_CODE_IS_TOO_LARGE = "5574"
"""For a chain. The contract of the properties is not for one."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What halmos found about one property, with which solver."""

    name: str
    passed: bool
    has_counterexample: bool
    seconds: float
    paths: int
    solver: str


@dataclass(frozen=True, slots=True)
class SlitherFinding:
    """What a detector of slither reports: its name, how bad it is, and where."""

    check: str
    impact: str
    where: str


def install_tools(folder: Path) -> Path:
    """Make a virtual environment with the tools, if none is there; return its programs."""
    programs = folder / "bin"
    if not (programs / "halmos").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(programs / "pip"), "install", "--quiet", *PACKAGES], check=True)
    return programs


def prove_properties(
    program: Path, folder: Path, source: str, *, match: str = "^check_"
) -> list[Proof]:
    """Prove the properties whose names match, of the contract that `source` makes.

    What yices cannot prove is given to z3: yices 2.6.4 at times finds a counterexample that is
    none, of a state in which two names for one brain read different values.
    """
    proofs = _run_halmos(program, folder, source, match=match, solver="yices")
    failed = {proof.name for proof in proofs if not proof.passed}
    if not failed:
        return proofs
    names = rf"^({'|'.join(sorted(failed))})\("
    again = _run_halmos(program, folder, source, match=names, solver="z3")
    return [*(proof for proof in proofs if proof.passed), *again]


def _run_halmos(
    program: Path, folder: Path, source: str, *, match: str, solver: str
) -> list[Proof]:
    sources = {
        contract_compiler.SOURCE_NAME: source,
        PROPERTIES_FILE.name: PROPERTIES_FILE.read_text("utf-8"),
    }
    environment = _write_forge_project(folder, sources)
    report = folder / f"{solver}.json"
    words = [
        str(program),
        *("--root", str(folder)),
        *("--contract", PROPERTIES_CONTRACT),
        *("--match-test", match),
        *("--default-bytes-lengths", "65"),
        *("--solver", solver),
        *("--solver-timeout-assertion", "120s"),
        *("--json-output", str(report)),
        "--early-exit",
        "--no-status",
    ]
    result = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
    if not report.exists():
        raise RuntimeError(f"halmos failed:\n{result.stdout}{result.stderr}")
    tests = json.loads(report.read_text("utf-8"))["test_results"]
    return [
        Proof(
            name=row["name"].partition("(")[0],
            passed=row["exitcode"] == 0,
            has_counterexample=row["exitcode"] == 1,  # others are timeouts and crashes
            seconds=row["time"][0] if row.get("time") else 0.0,
            paths=row["num_paths"][0] if row.get("num_paths") else 0,
            solver=solver,
        )
        for rows in tests.values()
        for row in rows
    ]


def run_slither(program: Path, folder: Path, source: str) -> list[SlitherFinding]:
    """Return what all detectors report."""
    environment = _write_forge_project(folder, {contract_compiler.SOURCE_NAME: source})
    report = folder / "slither.json"
    report.unlink(missing_ok=True)
    result = subprocess.run(
        [str(program), ".", "--ignore-compile", "--json", str(report)],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
        check=False,
    )
    if not report.exists():
        raise RuntimeError(f"slither failed:\n{result.stdout}{result.stderr}")
    answer = json.loads(report.read_text("utf-8"))
    if not answer["success"]:
        raise RuntimeError(f"slither failed: {answer['error']}")
    return [
        SlitherFinding(row["check"], row["impact"], row["description"].partition(" (")[0])
        for row in answer["results"].get("detectors", [])
    ]


def _write_forge_project(folder: Path, sources: dict[str, str]) -> dict[str, str]:
    """Write what `forge build` would; return the environment in which the tools find it."""
    standard_json = contract_compiler.audit_input(sources)
    answer = contract_compiler.run_compiler(standard_json, expected=_CODE_IS_TOO_LARGE)
    for name, content in sources.items():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, "utf-8")
        for contract, built in answer["contracts"][name].items():
            _write_json(
                folder / "out" / name / f"{contract}.json",
                {
                    "abi": built["abi"],
                    "ast": answer["sources"][name]["ast"],
                    "bytecode": built["evm"]["bytecode"],
                    "deployedBytecode": built["evm"]["deployedBytecode"],
                    "methodIdentifiers": built["evm"]["methodIdentifiers"],
                    "metadata": json.loads(built["metadata"]),
                    "storageLayout": built["storageLayout"],
                },
            )
    version = contract_compiler.compiler_version().partition("+")[0]
    build = {"solcVersion": version, "input": standard_json, "output": answer}
    _write_json(folder / "out" / "build-info" / "build.json", build)
    (folder / "foundry.toml").touch()
    forge = folder / "programs" / "forge"
    forge.parent.mkdir(exist_ok=True)
    forge.write_text("#!/bin/sh\necho '{}'\n", "utf-8")
    forge.chmod(0o755)
    return {**os.environ, "PATH": f"{forge.parent}{os.pathsep}{os.environ['PATH']}"}


def _write_json(path: Path, content: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), "utf-8")
