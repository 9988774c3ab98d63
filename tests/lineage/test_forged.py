"""Forged rows with valid ids and checksums lead to a finding or a typed error."""

import pytest

from tests.support.lineages.forged_lineages import forge_and_verify, make_brain


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return make_brain(tmp_path_factory.mktemp("forged") / "agent")


@pytest.mark.parametrize("seed", range(1, 25))
def test_a_forged_brain_is_refused_by_name_or_goes_on(base, seed):
    forge_and_verify(base, seed)
