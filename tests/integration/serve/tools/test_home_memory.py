"""The tool memory in a home of a program, adopted in place: it writes where the program reads."""

import pytest

from brain import Brain
from brain.clients.client_table import load_clients
from brain.errors import BrainError
from brain.serve.mcp.brain_pool import BrainPool
from brain.serve.tools import TOOLS, Toolbox
from tests.support.agent_homes import HOME_MAKERS, write_files

WRITTEN = {
    "hermes": ("memories/MEMORY.md", "memories/USER.md"),
    "claude-home": ("CLAUDE.md", "CLAUDE.md"),
    "codex-home": ("memories/MEMORY.md", "AGENTS.md"),
    "openclaw": ("MEMORY.md", "USER.md"),
}
"""By the kind of home: where the targets memory and user are."""


@pytest.fixture(params=WRITTEN)
def home(request, tmp_path):
    """Adopt a home in place."""
    folder = HOME_MAKERS[request.param][1](tmp_path / "home")
    Brain.adopt(folder)
    with Brain.open(folder) as brain:
        yield brain


def remember(brain: Brain, content: str, target: str = "memory") -> str:
    arguments = {"action": "add", "target": target, "content": content}
    return Toolbox(brain).call("memory", arguments).text


def test_what_is_remembered_is_where_the_program_reads_it(home):
    for target, path in zip(("memory", "user"), WRITTEN[kind_of(home)], strict=True):
        before = (home.root / path).read_text()
        assert path in remember(home, f"For {target}: wants tabs.", target)
        after = (home.root / path).read_text()
        assert after.startswith(before.rstrip("\n")) and f"For {target}: wants tabs." in after
    assert home.status().clean


def kind_of(brain: Brain) -> str:
    text = brain.files.read("manifest.yaml").decode()
    return next(kind for kind in WRITTEN if f"home: {kind}\n" in text)


def test_a_refusal_names_what_would_be_taken(home):
    with pytest.raises(BrainError) as caught:
        remember(home, "Wants tabs.", "notes.txt")
    first, second = WRITTEN[kind_of(home)]
    assert f"here are: memory ({first}), user ({second})" in caught.value.hint


def test_the_definition_of_the_tool_names_the_files_of_the_home(home):
    served = BrainPool(lambda _: home).list_tools("a")
    tool = next(tool for tool in served if tool.name == "memory")
    assert f"Targets in this home: memory ({WRITTEN[kind_of(home)][0]})" in tool.description


def test_a_brain_that_is_no_home_is_served_the_usual_definitions(tmp_path):
    with Brain.init(tmp_path / "brain") as brain:
        assert BrainPool(lambda _: brain).list_tools("a")[: len(TOOLS)] == TOOLS


@pytest.fixture
def claude(tmp_path):
    folder = HOME_MAKERS["claude-home"][1](tmp_path / "home")
    Brain.adopt(folder)
    with Brain.open(folder) as brain:
        yield brain


def test_memory_of_a_project_is_a_target_by_its_path(claude):
    path = "projects/-work-app/memory/MEMORY.md"
    assert path in remember(claude, "It needs node 24.", path)
    assert "It needs node 24." in (claude.root / path).read_text()
    with pytest.raises(BrainError) as caught:
        remember(claude, "x", "projects/-work-app/memory/none.md")
    assert path in caught.value.hint and "notes.jsonl" not in caught.value.hint


def test_no_file_is_made_where_the_program_does_not_look(claude):
    for target in ("notes.jsonl", "projects/-work-app/notes.md", "../out.md", "memory/MEMORY.md"):
        with pytest.raises(BrainError):
            remember(claude, "{}", target)
    assert claude.status().clean


def test_memory_without_a_suffix_is_notes(tmp_path):
    folder = write_files(
        tmp_path / ".config/goose", {".goosehints": "Be brief.\n", "config.yaml": "a: 1\n"}
    )
    Brain.adopt(folder, kind="goose")
    with Brain.open(folder) as brain:
        remember(brain, "Wants tabs.")
        assert (folder / ".goosehints").read_text() == "Be brief.\n§\nWants tabs.\n"


def test_every_row_with_memory_says_where_the_target_memory_is():
    folders = [part for row in load_clients().values() for part in (row.home, row.project) if part]
    for folder in folders:
        targets = [file.target for file in folder.memory_files]
        assert not targets or targets[0] == "memory", folder.kind
