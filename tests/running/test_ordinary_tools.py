"""How many ordinary tools, written without a thought of the gate, it admits at first try."""

from brain.running.trial import try_program
from brain.sandbox.job import SandboxLimits
from tests.support.ordinary_tools import TOOLS, build

PATIENT = SandboxLimits(wall_seconds=120)


def test_at_least_15_of_17_ordinary_tools_are_admitted_at_first_try(sandbox):
    reasons = {
        name: try_program(
            sandbox, build(name), seed=17, decided_by="trial", limits=PATIENT
        ).verdict.reason
        for name in TOOLS
    }
    refused = {name: reason for name, reason in reasons.items() if reason}
    assert len(reasons) == 17 and len(refused) <= 2, refused
