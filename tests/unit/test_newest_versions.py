"""A release of somebody else is named as soon as a test fails with it, and fails nothing."""

import re
import tomllib
from importlib.metadata import requires
from types import SimpleNamespace
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests import newest_versions


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
