import pytest

from brain.adopting import PUBLISH_CLIENTS
from brain.adopting.layouts import HOME_LAYOUTS, PROJECT
from brain.adopting.sources import source_readers


@pytest.fixture
def table(project):
    """The rows of the table of kinds, by kind."""
    text = (project / "docs/adopting.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    return {row.split("`")[1]: row for row in rows}


def test_the_table_has_every_kind_that_can_be_adopted(table):
    assert list(table) == sorted(table, key=list(table).index)
    assert set(table) == {taker.kind for taker in source_readers()}


@pytest.mark.parametrize("layout", HOME_LAYOUTS, ids=[layout.kind for layout in HOME_LAYOUTS])
def test_the_table_names_all_that_is_taken(layout, table):
    # the workspace and each program of a project have rows of their own
    if layout.kind != "openclaw-state" and layout is not PROJECT:
        for rule in layout.rules:
            assert f"`{rule.home_pattern}`" in table[layout.kind], rule.home_pattern


def test_every_client_to_publish_to_is_named(project):
    text = (project / "docs/adopting.md").read_text()
    assert all(f"`{client}`" in text for client in PUBLISH_CLIENTS)
