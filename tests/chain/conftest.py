"""A node and a BrainRegistry on it, for each file of tests."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.support import anvil_node
from tests.support.chain.registry_contract import RegistryContract


@pytest.fixture(scope="module")
def node() -> Generator[anvil_node.Anvil]:
    with anvil_node.run_anvil() as node:
        yield node


@pytest.fixture(scope="module")
def registry(node: anvil_node.Anvil) -> RegistryContract:
    return RegistryContract(node)
