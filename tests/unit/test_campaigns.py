"""`make campaigns` says by which seed it draws, and how to see again what failed."""

import fnmatch
import importlib.util
import re
import tomllib
from importlib.metadata import requires
from types import SimpleNamespace
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests import newest_versions
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


# A release of somebody else is named as soon as a test fails with it, and fails nothing.
class Installed:
    """An environment in which the checks fail with one version of one package."""

    def __init__(self, bad: str, **versions: str) -> None:
        self._bad = bad
        self._versions = versions

    def install(self, *words: str) -> None:
        name, _, version = words[-1].partition("==")
        self._versions |= {name: version} if version else {}

    def run(self, *words: str) -> Any:
        failed = self._bad in (f"{name} {version}" for name, version in self._versions.items())
        return SimpleNamespace(returncode=int(failed), stdout="1 failed\n")

    def versions(self) -> dict[str, str]:
        return dict(self._versions)


@pytest.mark.parametrize(
    ("bad", "versions", "told"),
    [
        ("", {"a": "1", "b": "1"}, "the lock has the newest allowed versions"),
        ("", {"a": "2", "b": "1"}, "the tests pass with a 2, newer than the lock"),
        ("b 2", {"a": "2", "b": "2"}, "warning: with b 2 this fails: pytest"),
        ("c 1", {"a": "2", "b": "2", "c": "1"}, "warning: with one of a 2, b 2 this fails: pytest"),
    ],
)
def test_the_package_with_which_the_tests_fail_is_named(bad, versions, told, monkeypatch):
    monkeypatch.setattr(newest_versions, "locked_versions", lambda: {"a": {"1"}, "b": {"1"}})
    environment: Any = Installed(bad, **versions)
    assert newest_versions.try_newest(environment).startswith(told)


def test_the_lock_has_every_direct_dependency_and_names_no_registry(project):
    settings = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))
    extras = settings["project"]["optional-dependencies"]
    wanted = [*settings["build-system"]["requires"], *settings["project"]["dependencies"]]
    names = {re.split(r"[^\w.-]", line)[0].lower() for line in sum(extras.values(), wanted)}
    names -= {"agent-brain", "harbor"}  # Harbor, of which no test runs, needs Python 3.12
    assert names <= set(newest_versions.locked_versions())
    for file in [*(project / "requirements").iterdir(), project / "tests/npm/package-lock.json"]:
        text = file.read_text("utf-8")
        assert '"resolved"' not in text and "--index-url" not in text, file


def test_what_the_lock_installs_here_needs_nothing_more(project):
    rows = [
        Requirement(line.rstrip("\\ \n"))
        for name in ("base", "test")
        for line in (project / f"requirements/{name}.txt").read_text("utf-8").splitlines()
        if line[:1].isalnum()
    ]
    installed = {
        canonicalize_name(row.name) for row in rows if row.marker is None or row.marker.evaluate()
    }
    needed = [Requirement("agent-brain[test]")]
    for need in needed:  # grows as it is walked
        for line in requires(need.name) or ():
            found = Requirement(line)
            extras = ({"extra": extra} for extra in {"", *need.extras})
            if found.marker is None or any(map(found.marker.evaluate, extras)):
                if found.name != "agent-brain":
                    assert canonicalize_name(found.name) in installed, (need.name, line)
                if str(found) not in map(str, needed):
                    needed.append(found)
