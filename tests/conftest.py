"""What every test gets: an environment of its own, and no skipping in CI."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

# A slow moment of the machine is not a failure of the property, and the same tests draw the
# same values each time. `make fuzz` draws others, by its seed.
settings.register_profile(
    "brain",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("fuzz", settings.get_profile("brain"), derandomize=False, print_blob=True)
settings.load_profile("brain")

# Hypothesis also draws constants of the modules that were imported so far, so what it draws
# would depend on the tests before.
providers._get_local_constants = lambda: providers._local_constants

_homes = itertools.count()
_RECURSION = sys.getrecursionlimit()
"""As it is in a fresh process. py_ecc, which tests use as an oracle, raises it a hundredfold,
and nested JSON then overflows the stack."""

# Started in the background, a process may find these ignored, and so would those it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)
for _number in (signal.SIGHUP, signal.SIGTERM):
    signal.signal(_number, signal.SIG_DFL)


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give what is made for several tests a cache folder that is not the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("BRAIN_CACHE_DIR", raising=False)
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("caches")))
        yield


@pytest.fixture(autouse=True)
def _isolated(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Point the user's folders at an empty place and forget the user's settings."""
    home = tmp_path_factory.mktemp(f"home-{next(_homes)}", numbered=False)
    sys.setrecursionlimit(_RECURSION)
    for name in list(os.environ):
        if name.startswith(("BRAIN_", "GIT_", "XDG_")):
            monkeypatch.delenv(name)
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LC_ALL", "PYTHONDONTWRITEBYTECODE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Tester")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "tester@example.org")


@pytest.fixture
def project() -> Path:
    """The root of the source tree."""
    return Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def source_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the packages are built from, without what earlier builds left."""
    project = Path(__file__).resolve().parents[1]
    copy = tmp_path_factory.mktemp("source")
    for folder in ("brain", "cli", "examples", "schemas"):
        shutil.copytree(
            project / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__")
        )
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(project / file, copy / file)
    return copy


@pytest.fixture
def source_copy(source_tree: Path, tmp_path: Path) -> Path:
    """The same, free to be changed."""
    return Path(shutil.copytree(source_tree, tmp_path / "source"))


def _fail_in_ci(report: pytest.TestReport | pytest.CollectReport) -> None:
    if os.environ.get("CI") and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI does not allow: {report.longrepr}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _fail_in_ci(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _fail_in_ci(report)
    return report
