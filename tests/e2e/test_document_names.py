"""Python examples in the documents run, and the names that they use exist."""

import re
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest

import brain as brain_package
from brain import Brain, api
from brain.serve.tools import TOOLS
from tests.support.scripted_model import FakeModel

PROJECT = Path(__file__).parents[2]
DOCUMENTS = [
    path.relative_to(PROJECT).as_posix()
    for path in [PROJECT / "README.md", *sorted(PROJECT.glob("docs/**/*.md"))]
]
PYTHON_NAME = re.compile(r"`((?:brain|Brain)(?:\.\w+)+)(?:\(\))?`")
MODULE_PATH = re.compile(r"`((?:[\w]+/)+\w+\.py)`")


def python_blocks(name: str) -> list[str]:
    text = (PROJECT / name).read_text("utf-8")
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.fixture
def names(tmp_path, monkeypatch):
    """What the examples take as given: a brain, a model, and what they write."""
    monkeypatch.chdir(tmp_path)
    with Brain.init("my-agent", author="auditor") as opened:
        opened.skills.upsert("Oracle manipulation", "Check the age of a price.\n")
        yield {
            "Brain": Brain,
            "brain": opened,
            "better": "Check the age of a price and its source.\n",
            "model": FakeModel(),
            "output": "12 passed",
            "question": "Which feed?",
            "answer": "Two of them.",
            "text": "The vault reads two feeds.\n",
        }


@pytest.mark.parametrize("name", ["README.md", "docs/guides/python.md"])
def test_the_examples_of_a_document_run(name, names):
    blocks = python_blocks(name)
    assert blocks
    for block in blocks:
        exec(compile(block, name, "exec"), names)


def test_the_run_of_the_guide_to_python_is_recorded(names):
    before = names["brain"].skills.view("oracle-manipulation").version
    _, block, *_ = python_blocks("docs/guides/python.md")
    exec(compile(block, "docs/guides/python.md", "exec"), names)
    assert names["brain"].skills.view("oracle-manipulation").version == before + 1
    found = names["brain"].receipts.verify()
    assert found.ok and found.steps == 5


def exists(dotted: str) -> bool:
    """Tell whether a name is an attribute of an open brain or of a package of the project."""
    first, *rest = dotted.split(".")
    value: Any = brain_package
    if first == "Brain" or rest[0] in Brain.__annotations__ or hasattr(Brain, rest[0]):
        value = Brain
    for position, part in enumerate(rest):
        if value is Brain and (found := find_part(f"{part.capitalize()}Part")):
            value = found
        elif hasattr(value, part):
            value = getattr(value, part)
        else:
            try:
                value = import_module(".".join(["brain", *rest[: position + 1]]))
            except ModuleNotFoundError:
                return False
    return True


def find_part(name: str) -> Any:
    modules = (import_module(f"brain.api.{found.name}") for found in iter_modules(api.__path__))
    return next((getattr(module, name) for module in modules if hasattr(module, name)), None)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_name_of_the_library_in_a_document_exists(name):
    text = (PROJECT / name).read_text("utf-8")
    assert [dotted for dotted in PYTHON_NAME.findall(text) if not exists(dotted)] == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_module_that_a_document_names_exists(name):
    text = (PROJECT / name).read_text("utf-8")
    roots = [PROJECT, PROJECT / "brain", PROJECT / "brain/repo"]
    assert [
        path for path in MODULE_PATH.findall(text) if not any((r / path).exists() for r in roots)
    ] == []


@pytest.mark.parametrize(
    "dotted", ["brain.skills.no_such", "Brain.select", "brain.no_such", "Brain.no_such"]
)
def test_a_name_that_is_gone_is_found(dotted):
    assert not exists(dotted)


def heading_anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings, as renderers of Markdown make them."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.strip().lower()).replace(" ", "-") for one in headings}


@pytest.mark.parametrize("name", [*DOCUMENTS, "CHANGELOG.md"])
def test_a_link_of_a_document_leads_to_a_file_and_a_heading_of_it(name):
    page = PROJECT / name
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = link.partition("#")
        if "://" in link or link.startswith("mailto:"):
            continue
        target = page.parent / path if path else page
        assert target.exists(), link
        if anchor and target.suffix == ".md":
            assert anchor in heading_anchors(target.read_text("utf-8")), link


# What docs/guides/agents.md shows is what happens.
@pytest.fixture
def document(project):
    return (project / "docs/guides/agents.md").read_text("utf-8")


def test_its_python_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in python_blocks("docs/guides/agents.md"):
        exec(compile(block, "docs/guides/agents.md", "exec"), names)
    names["brain"].close()


def test_the_table_has_every_tool_with_its_parameters(document):
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\| (.*) \|$", document, re.MULTILINE)
    assert {name: set(re.findall(r"`(\w+)`", shown)) for name, shown in rows} == {
        tool.name: set(tool.parameters["properties"]) for tool in TOOLS
    }
