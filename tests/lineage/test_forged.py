"""Forged rows with valid ids and checksums lead to a finding or a typed error."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.lineages.forged_lineages import forge_and_verify, make_brain


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_brain(tmp_path_factory.mktemp("forged") / "agent")


@pytest.mark.parametrize("seed", range(1, 25))
def test_a_forged_brain_is_refused_by_name_or_goes_on(base: Path, seed: int) -> None:
    forge_and_verify(base, seed)
