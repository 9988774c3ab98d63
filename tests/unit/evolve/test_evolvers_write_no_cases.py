"""No evolver adds what admits its own changes: the cases of a brain come from people."""

import ast
from pathlib import Path

import pytest

import brain

_PACKAGE = Path(brain.__file__).parent
_MODULES = sorted((_PACKAGE / "evolve").rglob("*.py"))
_WRITES = {"add_case", "write_file"}
"""Operations that can write the document of a case; those of `brain.ops.files` can, too."""


@pytest.mark.parametrize("module", _MODULES, ids=lambda path: str(path.relative_to(_PACKAGE)))
def test_no_evolver_calls_what_could_write_a_case(module):
    names = set()
    for node in ast.walk(ast.parse(module.read_bytes())):
        match node:
            case ast.Attribute(attr=name) | ast.Name(id=name) | ast.FunctionDef(name=name):
                names.add(name)
            case ast.ImportFrom(module=path, names=imported):
                names.update(one.name for one in imported)
                names.update(f"{path or ''}.{one.name}" for one in imported)
    assert not names & _WRITES
    assert not [name for name in names if "ops.files" in name]


def test_the_operations_that_are_refused_are_those_that_write_cases():
    files = ("repo/learning/cases.py", "api/task.py")
    code = "\n".join((_PACKAGE / name).read_text() for name in files)
    assert all(f"def {name}(" in code for name in _WRITES)
