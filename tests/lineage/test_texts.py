"""A short run of the campaign of texts: `python -m tests.support.lineages texts`."""

import pytest

from tests.support.lineages import line_merge_oracle


@pytest.mark.parametrize("seed", range(3))
def test_git_merges_random_texts_alike(tmp_path, seed):
    assert list(line_merge_oracle.find_disagreements(tmp_path, seed, 100)) == []
