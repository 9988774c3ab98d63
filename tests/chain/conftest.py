"""A node and a BrainRegistry on it, for each file of tests."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests import anvil
from tests.chain.registry import Registry


@pytest.fixture(scope="module")
def node() -> Generator[anvil.Anvil]:
    with anvil.running() as node:
        yield node


@pytest.fixture(scope="module")
def registry(node: anvil.Anvil) -> Registry:
    return Registry(node)
