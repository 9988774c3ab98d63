"""Servers for the suites of stores: each is started once, when a test first needs it."""

import hashlib

import pytest

from tests.support.experience_servers import run_postgres


@pytest.fixture
def key(request):
    """Name something of this test alone in a store that others share: the same each time."""
    return hashlib.blake2b(request.node.nodeid.encode(), digest_size=16).hexdigest()


@pytest.fixture(scope="session")
def postgres():
    with run_postgres() as server:
        yield server
