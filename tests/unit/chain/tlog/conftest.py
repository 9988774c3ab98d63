"""A ledger in a folder of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from brain.chain.tlog.ledger import EmbeddedLedger
from tests.logs import ledger


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "ledgers" / "local"


@pytest.fixture
def log(folder: Path) -> Iterator[EmbeddedLedger]:
    with ledger(folder) as made:
        yield made
