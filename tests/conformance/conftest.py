"""Servers for the suites of stores: each is started once, when a test first needs it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import pytest

from tests.support.experience_servers import DatabaseServer, run_postgres, run_redis


@pytest.fixture
def key(request: pytest.FixtureRequest) -> str:
    """Name something of this test alone in a store that others share: the same each time."""
    return hashlib.blake2b(request.node.nodeid.encode(), digest_size=16).hexdigest()


@pytest.fixture(scope="session")
def postgres() -> Iterator[DatabaseServer]:
    with run_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def redis_server() -> Iterator[DatabaseServer]:
    with run_redis() as server:
        yield server
