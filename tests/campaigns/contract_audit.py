"""Audit BrainRegistry: slither, properties proven by halmos, seeded bugs, and random calls.

    python -m tests.campaigns.contract_audit [--seed 1] [--budget 600]

slither and halmos are installed from PyPI into an environment of their own, beside this Python,
at the first run. The compiler and the node are those of `make test`. Prints a table, and ends
with status 1 if slither finds what is not explained here, a property does not hold, a seeded bug
gets past both the properties and the random calls, or random calls end as they should not.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.campaigns.contract_audit_bugs import SEEDED_BUGS, SeededBug
from tests.campaigns.contract_audit_tools import (
    DEFAULT_TOOLS,
    install_tools,
    prove_properties,
    run_slither,
)
from tests.support import anvil_node
from tests.support.chain import contract_compiler, registry_campaign
from tests.support.chain.registry_campaign import RegistrySequences

EXPLAINED = {
    "timestamp": "permits and offers end at a second; a proposer can shift it by seconds",
    "assembly": "a bounded read of ERC-1271's answer, and the sha256 precompile",
}
"""What slither reports and why it stays, by detector."""

MAX_SEQUENCES = 2000
"""Of random calls, on a contract with a seeded bug."""


def make_parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m tests.campaigns.contract_audit",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--seed", type=int, default=1)
    made.add_argument("--budget", type=float, default=600.0, metavar="SECONDS")
    made.add_argument("--tools", type=Path, default=DEFAULT_TOOLS, metavar="FOLDER")
    made.add_argument("--only", choices=("slither", "properties", "bugs", "calls"))
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    options = make_parser().parse_args(arguments)
    source = (contract_compiler.CONTRACTS_FOLDER / contract_compiler.SOURCE_NAME).read_text("utf-8")
    with tempfile.TemporaryDirectory() as folder:
        audit = ContractAudit(source, options.tools, Path(folder), options.seed, options.budget)
        steps = {
            "slither": audit.report_findings,
            "properties": audit.report_properties,
            "bugs": audit.report_bugs,
            "calls": audit.report_calls,
        }
        chosen = [options.only] if options.only else list(steps)
        passed = [steps[name]() for name in chosen]
    return int(not all(passed))


class ContractAudit:
    """The steps of an audit; each prints what it found, and returns whether all is well."""

    def __init__(self, source: str, tools: Path, folder: Path, seed: int, budget: float) -> None:
        self._source = source
        self._tools = tools
        self._folder = folder
        self._seed = seed
        self._budget = budget

    def report_findings(self) -> bool:
        slither = install_tools(self._tools) / "slither"
        findings = run_slither(slither, self._folder / "slither", self._source)
        for finding in findings:
            reason = EXPLAINED.get(finding.check, "NOT EXPLAINED")
            _print_line(f"slither   {finding.impact}, {finding.check}: {finding.where}: {reason}")
        return all(finding.check in EXPLAINED for finding in findings)

    def report_properties(self) -> bool:
        halmos = install_tools(self._tools) / "halmos"
        proofs = prove_properties(halmos, self._folder / "properties", self._source)
        for proof in proofs:
            verdict = "holds" if proof.passed else "FAILS"
            _print_line(
                f"property  {verdict}  {proof.name}: {proof.paths} paths, {proof.seconds:.0f} s,"
                f" {proof.solver}"
            )
        return bool(proofs) and all(proof.passed for proof in proofs)

    def report_bugs(self) -> bool:
        changed = [bug.apply(self._source) for bug in SEEDED_BUGS]
        caught_all = True
        for bug, source, creation in zip(
            SEEDED_BUGS, changed, contract_compiler.creation_codes(changed), strict=True
        ):
            by_property = self._is_caught_by_property(bug, source)
            by_calls = find_difference(creation, self._seed, MAX_SEQUENCES)
            verdict = "no property"
            if bug.property_name:
                verdict = f"{bug.property_name} {'fails' if by_property else 'DOES NOT FAIL'}"
            shown = by_calls.partition(":")[0] or "random calls do not show it"
            _print_line(f"bug       {bug.name}: {verdict}; {shown}")
            caught_all &= by_property or bool(by_calls)
        return caught_all

    def _is_caught_by_property(self, bug: SeededBug, source: str) -> bool:
        if not bug.property_name:
            return False
        halmos = install_tools(self._tools) / "halmos"
        folder = self._folder / bug.name.replace(" ", "-")
        proofs = prove_properties(halmos, folder, source, match=rf"^{bug.property_name}\(")
        return bool(proofs) and all(proof.has_counterexample for proof in proofs)

    def report_calls(self) -> bool:
        words = ["--seed", str(self._seed), "--budget", str(self._budget)]
        return registry_campaign.main(words) == 0


def find_difference(creation: bytes, seed: int, most: int) -> str:
    """Return the sequence of random calls that tells a contract from the model, "" if none does."""
    with anvil_node.run_anvil() as node:
        return RegistrySequences(node, creation).find_difference(seed, range(most))


def _print_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
