"""A short run of the campaign `python -m tests.support.chain.registry_campaign`."""

from __future__ import annotations

from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.support import anvil_node
from tests.support.chain.registry_machine import RegistryMachine


def test_nobody_but_the_owner_and_the_signer_ever_moves_a_head(node: anvil_node.Anvil) -> None:
    RegistryMachine.use_node(node)
    run_state_machine_as_test(
        RegistryMachine, settings=settings(max_examples=25, stateful_step_count=30)
    )
