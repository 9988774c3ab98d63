"""Another assistant's registry is imported whole or not at all, and nothing of it runs."""

import json
from typing import Any

import pytest

from brain import Brain, evolve
from brain.errors import BrainError, Conflict, printable_text
from brain.evolve.acquire import REGISTRY_FILES
from tests.support.refusals import raises_code

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
INDEX: dict[str, Any] = {
    "greet": {"description": "Greets", "parameters_schema": SCHEMA, "usage_count": 3},
    "../../pwn": {"description": "Escapes"},
    "greet\n": {"description": "Has a line end"},
    "class": {"description": "A keyword"},
    "memory": {"description": "A built-in name"},
    "gone": {"description": "Without a file"},
}


@pytest.fixture
def registry(tmp_path):
    folder = tmp_path / "registry"
    folder.mkdir()
    (folder / "skills_registry.json").write_text(json.dumps(INDEX))
    for name in ("greet", "memory", "class"):
        (folder / f"{name}.py").write_text("print('hi')\n")
    return folder


@pytest.fixture
def brain(tmp_path):
    with Brain.init(tmp_path / "b") as made:
        yield made


def test_safe_skills_come_as_not_admitted_and_the_others_are_named(brain, registry):
    result = evolve.import_registry(brain, registry)
    assert [(one.slug, one.version) for one in result.skills] == [("greet", 1)]
    assert [one.name for one in result.refused] == [
        printable_text(name, 80) for name in [*INDEX][1:]
    ]
    assert [one.status for one in brain.programs.list()] == ["not_admitted"]
    with raises_code("not_admitted", Conflict):
        brain.programs.run("greet", {"text": "x"})
    head = brain.head
    assert not evolve.import_registry(brain, registry).skills[0].changed
    assert brain.head == head


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_a_registry_cut_short_is_an_error_and_imports_nothing(brain, registry, share):
    path = registry / "skills_registry.json"
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    head = brain.head
    with raises_code("bad_registry", BrainError):
        evolve.import_registry(brain, registry)
    assert brain.head == head


@pytest.mark.parametrize("text", ["", "[]x", "7", '{"a": 1}', "[" * 5000, '["a"]'])
def test_what_is_no_registry_is_an_error(brain, registry, text):
    (registry / "skills_registry.json").write_text(text)
    with raises_code("bad_registry", BrainError):
        evolve.import_registry(brain, registry)


def test_a_folder_without_one_is_named(brain, tmp_path):
    with raises_code("no_registry", BrainError) as failed:
        evolve.import_registry(brain, tmp_path)
    assert all(name in failed.value.hint for name in REGISTRY_FILES)
