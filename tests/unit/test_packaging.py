"""What gets installed: every package, typed, lazy, from the wheel that the sdist makes.

The builds and installs are real (setuptools, pip, fresh virtual environments). One thing is
borrowed to stay fast: third-party packages come from the running environment through a
.pth file instead of being downloaded, and the builds use its setuptools. `.ci/run` installs
with nothing borrowed.
"""

import ast
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from brain._version import __version__

SCHEMAS = list((Path(__file__).parents[2] / "schemas").glob("*.json"))
MAPPED = {"cli": "brain_cli", "schemas": "brain._schemas"}
EXAMPLE = "brain_cli._auditor"
"""Data without modules, so without an __init__.py."""
HEAVY = "apsw blake3 click cryptography dataclasses msgpack rich yaml".split()


def run(*arguments: object, cwd: Path | None = None) -> str:
    command = [str(argument) for argument in arguments]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def package_of(folder: Path) -> str:
    top, *rest = folder.parts
    return ".".join([MAPPED.get(top, top), *rest])


def fresh_venv(folder: Path) -> Path:
    """Make an environment that sees the third-party packages of this one; return its python."""
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    site = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    (Path(site) / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def install(python: Path, *what: object) -> None:
    run(
        *(sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check"),
        *("install", "--quiet", "--no-compile", "--no-deps", "--no-index"),
        "--no-build-isolation",
        *("--ignore-installed", *what),
    )


def assert_works(python: Path, home: Path, elsewhere: Path) -> None:
    """Check that the library and the command run from `home` when started in `elsewhere`."""
    code = "import brain, brain_cli; print(brain.__file__, brain_cli.__file__, sep='\\n')"
    for file in run(python, "-c", code, cwd=elsewhere).splitlines():
        assert Path(file).is_relative_to(home)
    code = "from importlib.resources import files; print(*files('brain._schemas').iterdir())"
    assert run(python, "-c", code, cwd=elsewhere).count(".json") == len(SCHEMAS)
    command = python.parent / "brain"
    assert __version__ in run(command, "--version", cwd=elsewhere)
    assert "oracle-manipulation upgraded 1 → 2" in run(command, "demo", cwd=elsewhere)


@pytest.fixture(scope="module")
def built(source_tree, tmp_path_factory):
    """The wheel, built from the sdist, and the sdist."""
    dist = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", dist, source_tree)
    (wheel,) = dist.glob("*.whl")
    (sdist,) = dist.glob("*.tar.gz")
    return wheel, sdist


def test_every_folder_with_an_init_file_is_in_the_list_of_packages(project):
    folders = {
        package_of(init.parent.relative_to(project))
        for top in ("brain", "cli", "schemas")
        for init in (project / top).rglob("__init__.py")
    }
    settings = tomllib.loads((project / "pyproject.toml").read_text())
    listed = settings["tool"]["setuptools"]["packages"]
    assert sorted(listed) == sorted([*folders, EXAMPLE])


def test_every_folder_with_a_module_has_an_init_file(project):
    for top in ("brain", "cli", "schemas"):
        for module in (project / top).rglob("*.py"):
            assert (module.parent / "__init__.py").exists(), module


def test_the_wheel_and_the_sdist_hold_every_module_schema_and_marker(built, source_tree):
    sources = [
        file.relative_to(source_tree)
        for pattern in ("brain/**/*.*", "cli/**/*.py", "schemas/*")
        for file in source_tree.glob(pattern)
        if file.is_file()
    ]
    wheel, sdist = built
    in_wheel = set(zipfile.ZipFile(wheel).namelist())
    with tarfile.open(sdist) as archive:
        in_sdist = {name.partition("/")[2] for name in archive.getnames()}
    for file in (source_tree / "examples" / "auditor").rglob("*"):
        relative = file.relative_to(source_tree / "examples" / "auditor")
        assert file.is_dir() or f"{EXAMPLE.replace('.', '/')}/{relative.as_posix()}" in in_wheel
    for file in sources:
        assert f"{package_of(file.parent).replace('.', '/')}/{file.name}" in in_wheel
        assert file.as_posix() in in_sdist
    tops = {name.split("/")[0].split("-")[0] for name in in_wheel}
    assert tops == {"agent_brain", "brain", "brain_cli"}


def test_the_wheel_installs_and_runs(built, tmp_path):
    python = fresh_venv(tmp_path / "env")
    install(python, built[0])
    assert_works(python, tmp_path / "env", tmp_path)


def test_importing_brain_loads_nothing_heavy():
    code = "import sys, brain; print(*sys.modules)"
    loaded = run(sys.executable, "-c", code).split()
    assert not [name for name in HEAVY if name in loaded]
    assert [name for name in loaded if name.startswith("brain.")] == ["brain._version"]


def test_public_names_load_when_they_are_used():
    import brain
    from brain import errors

    assert brain.NoBrain is errors.NoBrain
    assert set(brain.__all__) == set(dir(brain))
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = brain.nothing_like_it


def test_every_error_is_a_public_name():
    import brain
    from brain import errors

    tree = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.BrainError)
        if "code" in vars(value)  # the others only bring a hint
    }
    assert len(tree) > 10 and tree <= set(brain.__all__)


def imported(project: Path) -> set[str]:
    """Return the top-level names that the modules of the project import, wherever they do."""
    names: set[str] = set()
    for top in ("brain", "cli"):
        for module in (project / top).rglob("*.py"):
            for node in ast.walk(ast.parse(module.read_text("utf-8"))):
                if isinstance(node, ast.Import):
                    names.update(alias.name.partition(".")[0] for alias in node.names)
                elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                    names.add(node.module.partition(".")[0])
    return names


OWN_OR_STUBS = {"brain", "brain_cli", "needed", "skillapi", "_typeshed"}
"""Packages of this project, also inside the sandbox, and types that every type checker brings."""


def test_every_foreign_import_is_a_dependency(project):
    foreign = imported(project) - sys.stdlib_module_names - OWN_OR_STUBS
    settings = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    extras = {**settings["optional-dependencies"], "test": [], "bench": []}
    lines = [*settings["dependencies"], *(line for extra in extras.values() for line in extra)]
    declared = {canonical(re.split(r"[<>=;\[]", line)[0]) for line in lines}
    origins = metadata.packages_distributions()
    for name in foreign:
        assert declared & {canonical(origin) for origin in origins.get(name, [name])}, name


def canonical(name: str) -> str:
    return re.sub("[-_.]+", "-", name).lower().strip()
