"""A node and a BrainRegistry on it, for each file of tests."""

import pytest

from tests.support import anvil_node
from tests.support.chain.registry_contract import RegistryContract


@pytest.fixture(scope="module")
def node():
    with anvil_node.run_anvil() as node:
        yield node


@pytest.fixture(scope="module")
def registry(node):
    return RegistryContract(node)
