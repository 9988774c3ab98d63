"""Brains that many tests begin with, made once in a process and copied for each test."""

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

_made: dict[Callable[[Path], object], Path] = {}


def copy_brain(make: Callable[[Path], object], target: Path) -> Path:
    """Copy to `target`, new or empty, the brain that `make` makes in a folder, and its cache.

    `make` runs once and closes the brain. All copies have the same id, so a test that needs two
    brains makes the other one itself.
    """
    if make not in _made:
        _made[make] = _make_template(make)
    shutil.copytree(_made[make] / "brain", target, symlinks=True, dirs_exist_ok=True)
    shutil.copytree(_made[make] / "cache", _cache_home(), symlinks=True, dirs_exist_ok=True)
    return target


def _make_template(make: Callable[[Path], object]) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="template-"))
    (folder / "cache").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        make(folder / "brain")
    return folder


def _cache_home() -> Path:
    return Path(os.environ["HOME"]) / ".cache"
