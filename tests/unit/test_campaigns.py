"""`make campaigns` says by which seed it draws, and how to see again what failed."""

import fnmatch
import importlib.util
import re
from types import SimpleNamespace
from typing import Any

import pytest

from tests.campaigns import __main__ as campaigns
from tests.campaigns.__main__ import Campaign
from tests.conftest import read_targets


def test_what_fails_is_named_at_the_end_with_its_seed_and_command(project, monkeypatch, capfd):
    monkeypatch.chdir(project)
    good, bad = Campaign("tests.support.processes", 1), Campaign("tests.no_such_campaign {seed}", 1)
    monkeypatch.setattr(campaigns, "CAMPAIGNS", (good, bad))
    monkeypatch.setattr(campaigns, "MARKED", "tests.support.processes")
    monkeypatch.setattr(campaigns, "MIN_SECONDS", 0.01)
    assert campaigns.main(["--seed", "7", "--budget", "0"]) == 1
    out = capfd.readouterr().out
    assert out.startswith("seed 7, ")
    again = "PYTHONHASHSEED=7 python -m tests.no_such_campaign 7"
    assert out.endswith(f"seed 7: failed\n  {again}\n")


def test_without_a_seed_one_is_drawn_and_told(monkeypatch, capsys):
    drawn: list[int] = []
    monkeypatch.setattr(campaigns, "CAMPAIGNS", (Campaign("", 1),))
    monkeypatch.setattr(campaigns, "run", lambda campaign, seed, seconds: drawn.append(seed) or [])
    monkeypatch.setattr(campaigns, "run_once", lambda command, seed: [])
    assert campaigns.main([]) == 0
    assert (
        capsys.readouterr().out
        == f"seed {drawn[0]}, 900 seconds\nseed {drawn[0]}: nothing failed\n"
    )


def test_every_row_of_the_table_of_targets_names_tests_that_there_are(project):
    for _, pattern, _ in read_targets():
        path, _, names = pattern.partition("::")
        found = project / "tests" / path
        text = found.read_text("utf-8") if found.is_file() else ""
        tests = re.findall(r"(?:def|class) ([tT]est\w+)", text)
        is_case = "?" in names  # words of a parameter, which only a collection knows
        assert found.is_dir() or is_case or fnmatch.filter(tests, names or "*"), pattern


@pytest.mark.parametrize("module", sorted({c.command.split()[0] for c in campaigns.CAMPAIGNS}))
def test_every_campaign_is_a_module_that_runs(module):
    found = importlib.util.find_spec(module)
    if found is not None and found.submodule_search_locations is not None:  # a package
        found = importlib.util.find_spec(f"{module}.__main__")
    assert found is not None and found.origin is not None


def test_the_time_of_the_tests_begins_once_they_are_collected(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    config: Any = SimpleNamespace(stash={}, getoption=lambda name: 10.0)
    clock[0] = 1000.0  # collected slowly
    item: Any = SimpleNamespace(config=config)
    campaigns.pytest_collection_finish(item)
    clock[0] = 1009.0
    assert campaigns.pytest_runtest_protocol(item) is None
    clock[0] = 1011.0
    assert campaigns.pytest_runtest_protocol(item) is True
