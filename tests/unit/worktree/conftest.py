"""The folder that most tests of the work tree work on."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty brain: nothing but the folder of its store."""
    folder = tmp_path / "brain"
    (folder / ".brain").mkdir(parents=True)
    return folder
