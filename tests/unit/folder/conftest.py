"""The folder that most tests of the work tree work on."""

import pytest


@pytest.fixture
def root(tmp_path):
    """An empty brain: nothing but the folder of its store."""
    folder = tmp_path / "brain"
    (folder / ".brain").mkdir(parents=True)
    return folder
