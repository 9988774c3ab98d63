"""What every test gets: an environment of its own, and no skipping in CI."""

import functools
import gc
import itertools
import os
import shutil
import signal
import sys
import tempfile
import zlib
from collections.abc import Generator
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

# A slow moment of the machine is not a failure of the property, and the same tests draw the
# same values each time. `make campaigns` draws more, and others by its seed.
settings.register_profile(
    "brain",
    max_examples=10,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "campaigns", settings.get_profile("brain"), max_examples=100, derandomize=False, print_blob=True
)
settings.load_profile("brain")

# Hypothesis also draws constants of the modules that were imported so far, so what it draws
# would depend on the tests before.
providers._get_local_constants = lambda: providers._local_constants

_MEMORY_DISK = Path("/dev/shm")
_MEMORY_DISK_MIN_FREE = 4 << 30
"""Bytes; a whole run needs less, because folders of passed tests are removed at once."""

# No test looks at what a disk keeps when power fails (the power cuts of tests/faults are
# computed from system calls), so no test has to wait for one.
if (
    os.access(_MEMORY_DISK, os.W_OK)
    and shutil.disk_usage(_MEMORY_DISK).free >= _MEMORY_DISK_MIN_FREE
):
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY_DISK))

_home_numbers = itertools.count()
_RECURSION = sys.getrecursionlimit()
"""As it is in a fresh process. py_ecc, which tests use as an oracle, raises it a hundredfold,
and nested JSON then overflows the stack."""

# Started in the background, a process may find these ignored, and so would those it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)
for _number in (signal.SIGHUP, signal.SIGTERM):
    signal.signal(_number, signal.SIG_DFL)


_SETTINGS_OF_USER = ("BRAIN_", "GIT_", "XDG_")
_UNSET = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LC_ALL", "PYTHONDONTWRITEBYTECODE")
_SET = {
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{role}_NAME": "Tester" for role in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{role}_EMAIL": "tester@example.org" for role in ("AUTHOR", "COMMITTER")},
}


def _is_unset(name: str) -> bool:
    return name in _UNSET or (name.startswith(_SETTINGS_OF_USER) and name not in _SET)


@pytest.fixture(scope="session", autouse=True)
def _session_environment(tmp_path_factory):
    """Forget the user's settings, and give what several tests share a cache folder of its own."""
    with (
        pytest.MonkeyPatch.context() as patch,
        tempfile.TemporaryDirectory(
            dir=os.environ.get("PYTEST_DEBUG_TEMPROOT"), ignore_cleanup_errors=True
        ) as scratch,
    ):
        os.chmod(scratch, 0o1777)  # a few tests act as another user there
        for name in list(os.environ):
            if _is_unset(name):
                patch.delenv(name)
        for name, value in _SET.items():
            patch.setenv(name, value)
        for name in ("HOME", "USERPROFILE"):
            patch.setenv(name, str(tmp_path_factory.mktemp("home")))
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("caches")))
        patch.setenv("TMPDIR", scratch)
        patch.setattr(tempfile, "tempdir", scratch)
        yield


@pytest.fixture(scope="session")
def _homes(tmp_path_factory):
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(autouse=True)
def _isolated(monkeypatch, _homes):
    """Point the user's folders at an empty place and forget what fixtures and tests have set."""
    home = f"{_homes}/{next(_home_numbers)}"
    os.mkdir(home)
    sys.setrecursionlimit(_RECURSION)
    for name in list(os.environ):
        if _is_unset(name):
            monkeypatch.delenv(name)
    for name, value in {**_SET, "HOME": home, "USERPROFILE": home}.items():
        if os.environ.get(name) != value:
            monkeypatch.setenv(name, value)
    yield
    try:
        os.rmdir(home)
    except OSError:  # the test wrote to it
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def brain(tmp_path):
    """A new brain of the author `tester`, in the folder `agent`."""
    from brain import Brain

    with Brain.init(tmp_path / "agent", name="agent", author="tester") as made:
        yield made


@pytest.fixture
def project():
    """The root of the source tree."""
    return Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def source_tree(tmp_path_factory):
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
def source_copy(source_tree, tmp_path):
    """The same, free to be changed."""
    return Path(shutil.copytree(source_tree, tmp_path / "source"))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Import the tests without collecting garbage, and never look through what they import."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


TARGETS = Path(__file__).with_name("targets.txt")
"""Which items wait for `make campaigns`, and which need real parts."""


def read_targets() -> list[tuple[str, str, int]]:
    """Return rows of a marker, a pattern of items, and n where `make test` runs 1/n of them."""
    lines = (line.split() for line in TARGETS.read_text("utf-8").splitlines())
    return [
        (words[0], words[1], int(words[2].removeprefix("1/")) if words[2:] else 0)
        for words in lines
        if words and words[0] != "#"
    ]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the items of the table. Which a share keeps does not depend on what else is run."""
    rows_by_file: dict[str, list[tuple[str, str, int]]] = {}
    for item in items:
        path, _, name = item.nodeid.removeprefix("tests/").partition("::")
        if path not in rows_by_file:
            rows_by_file[path] = [
                (marker, pattern.partition("::")[2] or "*", share)
                for marker, pattern, share in read_targets()
                if f"{path}/".startswith(f"{pattern.partition('::')[0].rstrip('/')}/")
            ]
        for marker, names, share in rows_by_file[path]:
            if fnmatchcase(name, names) and not (
                share and zlib.crc32(item.nodeid.encode()) % share == 0
            ):
                item.add_marker(marker)


CPU_SECONDS_BUDGET = 5.0
"""What an item may cost in `make test`, counted with the processes that it started and waited
for, so that a busy machine changes little. A dearer one belongs into targets.txt."""
_CPU_SECONDS = "cpu_seconds"
_CPU_AT_START = pytest.StashKey[float]()


def _cpu_seconds() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


@functools.cache
def _missing_part(marker: str) -> str:
    """Return why tests with this marker cannot run on this machine, "" if they can."""
    if marker in ("strace", "b3sum"):
        return "" if shutil.which(marker) else f"{marker} is not installed; `make test` installs it"
    if marker == "sandbox":
        from brain.errors import SandboxError
        from brain.sandbox.find_sandbox import probe_sandbox

        try:
            probe_sandbox()
        except SandboxError as error:
            return f"no sandbox on this machine: {error.message}"
    return ""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Note what was used before the item, and skip it if a part that it needs is missing."""
    item.stash[_CPU_AT_START] = _cpu_seconds()
    for marker in item.iter_markers():
        if missing := _missing_part(marker.name):
            pytest.skip(missing)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the items above the budget."""
    dear = {
        f"{seconds:5.1f} CPU seconds: {report.nodeid}"
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, seconds in getattr(report, "user_properties", ())
        if name == _CPU_SECONDS and seconds > CPU_SECONDS_BUDGET
    }
    if dear:
        terminalreporter.section(f"above the budget of {CPU_SECONDS_BUDGET} s an item")
        for line in sorted(dear, reverse=True):
            terminalreporter.line(line)


def _fail_in_ci(report: pytest.TestReport | pytest.CollectReport) -> None:
    if os.environ.get("CI") and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI does not allow: {report.longrepr}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    if call.when == "teardown":
        used = _cpu_seconds() - item.stash[_CPU_AT_START]
        item.user_properties.append((_CPU_SECONDS, round(used, 3)))
    report = yield
    _fail_in_ci(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _fail_in_ci(report)
    return report
