"""A ledger in a folder of its own."""

import pytest

from tests.support.tlog_ledgers import open_ledger_with_fixed_clock


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "ledgers" / "local"


@pytest.fixture
def log(folder):
    with open_ledger_with_fixed_clock(folder) as made:
        yield made
