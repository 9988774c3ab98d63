"""A ledger in a folder of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from brain.chain.tlog.embedded_ledger import EmbeddedLedger
from tests.support.tlog_ledgers import open_ledger_with_fixed_clock


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "ledgers" / "local"


@pytest.fixture
def log(folder: Path) -> Iterator[EmbeddedLedger]:
    with open_ledger_with_fixed_clock(folder) as made:
        yield made
