"""A brain with derived data of every kind, and where the caches of it lie."""

import os
import shutil
import time
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.derived_data import answer_all_questions, make_brain


class CachedBrain(NamedTuple):
    """The folder of a brain, and what it answers without any cache."""

    root: Path
    truth: dict[str, object]


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """A brain that nobody changes."""
    place = tmp_path_factory.mktemp("grown")
    (place / "no-cache").write_text("in the way")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BRAIN_CACHE_DIR", str(place / "no-cache"))
        ticks = count(1_700_000_000)
        patch.setattr(time, "time_ns", lambda: next(ticks) * 10**9)
        patch.setattr(os, "urandom", bytes)  # so that ids, and the bytes of caches, are the same
        make_brain(place / "agent")
        patch.undo()
        patch.setenv("BRAIN_CACHE_DIR", str(place / "no-cache"))
        return CachedBrain(place / "agent", answer_all_questions(place / "agent"))


@pytest.fixture
def grown(model, tmp_path):
    """A copy of it that may be changed."""
    shutil.copytree(model.root, tmp_path / "agent", symlinks=True)
    return model._replace(root=tmp_path / "agent")


@pytest.fixture
def caches(tmp_path, monkeypatch):
    """The folder of all caches of the user."""
    monkeypatch.setenv("BRAIN_CACHE_DIR", str(tmp_path / "caches"))
    return tmp_path / "caches"
