"""memory: entries added, changed, removed; nothing of anybody else is lost."""

import json
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain import Brain
from brain.clients.client_table import load_clients
from brain.errors import BrainError
from brain.merging.memory_entries import MemoryOperation, parse_memory
from brain.serve.mcp.brain_pool import BrainPool
from brain.serve.tools import TOOLS, Toolbox
from tests.integration.serve.tools.conftest import ToolCaller
from tests.support.agent_homes import HOME_MAKERS, write_files
from tests.support.cases import read_cases

CASES = read_cases(__file__)


def add(agent: ToolCaller, content: str, target: str = "memory", **given: Any) -> Any:
    return agent("memory", action="add", target=target, content=content, **given)


def write(agent: ToolCaller, path: str, text: str) -> None:
    file = agent.brain.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())


def test_entries_are_joined_as_hermes_joins_them(agent):
    add(agent, "Wants tabs.")
    answer = add(agent, "  Two lines\nof it.\n")
    assert agent.read_text("memory/MEMORY.md") == "Wants tabs.\n§\nTwo lines\nof it.\n"
    assert answer.changed and answer.data["snapshot"] == agent.brain.head
    assert (answer.data["entries"], answer.data["characters"]) == (2, 30)
    assert agent.brain.status().clean


def test_a_change_is_one_snapshot_of_that_file_alone(agent):
    write(agent, "notes.txt", "not recorded")
    add(agent, "Wants tabs.")
    assert [change.path for change in agent.brain.history.diff("@~1", "@").changes] == [
        "memory/MEMORY.md"
    ]
    assert agent.brain.status().added == ["notes.txt"]


def test_what_is_there_already_is_not_added_again(agent):
    add(agent, "Wants tabs.")
    assert not add(agent, "Wants tabs.").changed
    assert agent.read_text("memory/MEMORY.md") == "Wants tabs.\n"


def test_an_entry_is_replaced_and_removed_by_a_piece_of_it(agent):
    for entry in ("Wants tabs.", "Lives in Bern.", "Has a cat."):
        add(agent, entry)
    agent("memory", action="replace", target="memory", old_text="tabs", content="Wants spaces.")
    agent("memory", action="remove", target="memory", old_text="Bern")
    assert agent.read_text("memory/MEMORY.md") == "Wants spaces.\n§\nHas a cat.\n"
    agent("memory", action="remove", target="memory", old_text="spaces")
    assert agent.read_text("memory/MEMORY.md") == "Has a cat.\n"
    agent("memory", action="remove", target="memory", old_text="cat")
    assert agent.read_text("memory/MEMORY.md") == ""


def test_a_miss_shows_the_entries_and_an_ambiguous_piece_those_it_is_in(agent):
    for entry in ("Wants tabs.", "Wants tea.", "Has a cat."):
        add(agent, entry)
    given = {"target": "memory", "action": "remove"}
    miss = agent.expect_failure("memory", **given, old_text="dog")
    assert miss.code == "no_match" and "3. Has a cat." in miss.text
    both = agent.expect_failure("memory", **given, old_text="Wants")
    assert both.code == "ambiguous" and "Wants tea." in both.text and "cat" not in both.text


def test_operations_are_done_together_or_not_at_all(agent):
    add(agent, "Wants tabs.")
    steps: list[dict[str, Any]] = [
        {"action": "remove", "old_text": "tabs", "content": None},
        {"action": "add", "content": "Tea.", "old_text": None},
    ]
    agent("memory", target="memory", operations=steps)
    assert agent.read_text("memory/MEMORY.md") == "Tea.\n"
    failure = agent.expect_failure("memory", target="memory", operations=steps)
    assert failure.text.startswith("Operation 1 of 2") and "None was done" in failure.text
    assert agent.read_text("memory/MEMORY.md") == "Tea.\n"


def test_a_full_memory_says_what_is_in_it_and_takes_a_batch_that_makes_room(agent):
    add(agent, "a" * 1999, target="user")
    failure = agent.expect_failure("memory", action="add", target="user", content="More.")
    assert failure.code == "memory_full" and "2007 of 2000 characters" in failure.text
    assert "1. aaa" in failure.text
    steps = [{"action": "add", "content": "More."}, {"action": "remove", "old_text": "aaa"}]
    agent("memory", target="user", operations=steps)
    assert agent.read_text("memory/USER.md") == "More.\n"


def test_the_manifest_states_the_limit_and_the_place(agent):
    limits = "prompt:\n  memory:\n    - path: core/MEMORY.md\n      limit: 10\n"
    write(agent, "manifest.yaml", limits)
    agent.brain.snapshot()
    assert agent.expect_failure("memory", action="add", target="memory", content="x" * 11)
    assert add(agent, "x" * 10).data["path"] == "core/MEMORY.md"


def test_what_is_remembered_is_in_the_prompt_unless_the_manifest_says_otherwise(agent):
    add(agent, "Wants tabs.", target="user")
    assert "# Memory\n\n[Memory " in agent.brain.prompt.build().prompt
    assert "\nWants tabs.\n" in agent.brain.prompt.build().prompt
    write(agent, "manifest.yaml", "prompt:\n  memory: []\n")
    agent.brain.snapshot()
    assert "Wants tabs." not in agent.brain.prompt.build().prompt


def test_a_memory_past_its_limit_can_still_be_made_shorter(agent):
    write(agent, "memory/USER.md", "a" * 3000 + "\n§\n" + "b" * 3000)
    given = {"target": "user", "action": "replace"}
    agent("memory", **given, old_text="aaa", content="a")
    assert (
        agent.expect_failure("memory", **given, old_text="bbb", content="b" * 3001).code
        == "memory_full"
    )


@pytest.mark.parametrize("path", ["MEMORY.md", "memory/MEMORY.md", "memories/MEMORY.md"])
@pytest.mark.parametrize("recorded", [True, False])
def test_memory_stays_where_it_is(agent, path, recorded):
    write(agent, path, "By hand.")
    if recorded:
        agent.brain.snapshot()
    assert add(agent, "Mine.").data["path"] == path
    assert agent.read_text(path) == "By hand.\n§\nMine.\n"
    assert add(agent, "Ann", target="user").data["path"] == path.replace("MEMORY", "USER")


def test_an_edit_by_hand_is_recorded_before_a_change(agent):
    add(agent, "Wants tabs.")
    write(agent, "memory/MEMORY.md", "Wants tabs.\n§\nBy hand.\n")
    add(agent, "Tea.")
    assert agent.read_text("memory/MEMORY.md") == "Wants tabs.\n§\nBy hand.\n§\nTea.\n"
    assert next(iter(agent.brain.history.log("@~1"))).message == "Record manual edits"
    assert agent.brain.files.read("memory/MEMORY.md", "@~1").endswith(b"By hand.\n")


def test_notes_that_a_person_began_are_changed_block_by_block(agent):
    notes = (
        "# About\r\n\r\n- Wants tabs.\r\n- Has a\r\n  cat.\r\n\r\nA paragraph\r\nof two lines.\r\n"
    )
    write(agent, "MEMORY.md", notes)
    agent("memory", action="remove", target="memory", old_text="cat")
    agent("memory", action="replace", target="memory", old_text="two", content="One line.")
    add(agent, "Tea.\n\nTwo paragraphs.")
    assert agent.read_text("MEMORY.md") == (
        "# About\r\n\r\n- Wants tabs.\r\n\r\nOne line.\r\n§\r\nTea.\r\n\r\nTwo paragraphs.\r\n"
    )
    agent("memory", action="remove", target="memory", old_text="Tea.\n\nTwo para")
    assert agent.read_text("MEMORY.md").endswith("One line.\r\n")


@pytest.mark.parametrize(
    ("before", "step", "after"), CASES["test_line_ends_and_blank_lines_around_entries_stay"]
)
def test_line_ends_and_blank_lines_around_entries_stay(agent, before, step, after):
    write(agent, "MEMORY.md", before)
    agent("memory", target="memory", **step)
    assert agent.read_text("MEMORY.md") == after


def test_json_lines_keep_the_line_ends_and_blank_lines_they_have(agent):
    write(agent, "memory/a.jsonl", '{"n": 1}\r\n\r\n{"n": 2}\r\n\r\n')
    add(agent, '{"n": 3}', target="a.jsonl")
    agent("memory", target="a.jsonl", action="replace", old_text="1", content='{"n": 0}')
    expected = '{"n": 0}\r\n\r\n{"n": 2}\r\n{"n": 3}\r\n\r\n'
    assert agent.read_text("memory/a.jsonl") == expected


@given(st.text(st.sampled_from("a§#-1. \r\n\t\ufeff{}"), max_size=60))
def test_what_is_not_changed_stays_byte_for_byte(text):
    for path in ("MEMORY.md", "a.jsonl"):
        found = parse_memory(text, path)
        last = found.entries[-1].text if found.entries else ""
        assert found.text(last) == text or not found.entries
        grown = found.apply(MemoryOperation("add", '{"new": 1}')).text(last)
        assert grown.startswith(text.rstrip())
        assert grown.endswith(found.trailing or found.line_end)
        assert parse_memory(grown, path).entries[-1].text == '{"new": 1}'


def test_a_memory_of_blank_lines_is_cut_in_no_time():
    for text in ("a" + "\n" * 200_000 + "b", "# a" + " \n" * 100_000 + "b", "-" * 200_000):
        for path in ("MEMORY.md", "a.jsonl"):
            assert len(parse_memory(text, path).entries) <= 2


def test_a_separator_does_not_enter_an_entry(agent):
    assert agent.expect_failure("memory", action="add", target="memory", content="a\n§\nb").text
    assert agent.brain.skills.list() == [] and not (agent.brain.root / "memory/MEMORY.md").exists()


def test_json_lines_take_one_object_a_line(agent):
    answer = add(agent, '{"lesson": "é",\n "n": 1.5}', target="lessons.jsonl")
    assert answer.data["path"] == "memory/lessons.jsonl"
    add(agent, '{"lesson": "b"}', target="memory/lessons.jsonl")
    lines = agent.read_text("memory/lessons.jsonl").splitlines()
    assert [json.loads(line) for line in lines] == [{"lesson": "é", "n": 1.5}, {"lesson": "b"}]
    agent("memory", action="remove", target="lessons.jsonl", old_text="é")
    assert agent.read_text("memory/lessons.jsonl") == '{"lesson": "b"}\n'


@pytest.mark.parametrize(
    "content",
    [
        "word",
        "[1]",
        "1",
        '{"a": NaN}',
        '{"a": 1, "a": 2}',
        '{"a": [{"b": 1, "b": 1}]}',
        '{"a": 1e999}',
        '{"a": "\\ud800"}',
        "{" * 9999,
        '{"a"',
        "\x01",
    ],
)
def test_json_lines_take_nothing_else(agent, content):
    failure = agent.expect_failure("memory", action="add", target="a.jsonl", content=content)
    assert failure.code == "bad_arguments" and "JSON" in failure.text


@pytest.mark.parametrize(
    "target", ["notes", "../a.jsonl", "skills/a.jsonl", "/tmp/a.jsonl", "a\\b.jsonl", "a\n.jsonl"]
)
def test_nothing_but_memory_is_a_target(agent, target):
    add(agent, '{"a": 1}', target="findings.jsonl")
    failure = agent.expect_failure("memory", action="add", target=target, content='{"a": 1}')
    assert failure.code in ("no_memory", "bad_path", "bad_char")
    if target == "notes":
        assert "findings.jsonl" in failure.text


def test_a_link_is_not_written_through(agent):
    outside = agent.brain.root.parent / "outside"
    outside.mkdir()
    (agent.brain.root / "memory").rmdir()
    (agent.brain.root / "memory").symlink_to(outside)
    add = {"action": "add", "target": "a.jsonl", "content": '{"a": 1}'}
    assert agent.expect_failure("memory", **add).code == "unsafe_path"
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("arguments", CASES["test_what_is_missing_is_named"])
def test_what_is_missing_is_named(agent, arguments):
    assert agent.expect_failure("memory", target="memory", **arguments).code == "bad_arguments"


def test_memory_can_be_read(agent):
    read = {"action": "read", "target": "memory"}
    assert agent("memory", **read).data["content"] == ""
    add(agent, "Wants tabs.")
    answer = agent("memory", **read)
    assert answer.data["content"] == "Wants tabs.\n" and not answer.changed
    assert "1 entry, 11 of 4000 characters" in answer.text


def test_two_agents_that_add_at_once_lose_nothing(agent):
    def work(name: str) -> None:
        with Brain.open(agent.brain.root, author=name) as brain:
            tools = Toolbox(brain)
            for number in range(8):
                tools.call(
                    "memory", {"action": "add", "target": "memory", "content": f"{name} {number}"}
                )

    threads = [threading.Thread(target=work, args=(name,)) for name in ("a", "b", "c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = agent.read_text("memory/MEMORY.md").rstrip("\n").split("\n§\n")
    assert sorted(found) == sorted(f"{name} {number}" for name in "abc" for number in range(8))
    assert agent.brain.status().clean and agent.brain.verify().ok


def test_what_two_branches_added_is_merged_entry_by_entry(agent):
    add(agent, "Start.")
    agent.brain.branches.create("other")
    add(agent, "- ours\n- more of ours")
    agent.brain.branches.switch("other")
    add(agent, "- theirs\n- more of theirs")
    agent.brain.merge.start("main")
    found = agent("memory", action="read", target="memory")
    assert found.data["entries"] == 3
    assert found.data["content"].startswith("Start.\n§\n- ")


def test_a_redacted_memory_is_told_of(agent, tmp_path):
    add(agent, "A secret.")
    agent.brain.files.redact("memory/MEMORY.md", reason="leaked")
    assert add(agent, "Tea.").data["entries"] == 1


def test_a_change_says_how_full_the_memory_is(agent):
    assert add(agent, "One.").text == "Remembered. memory/MEMORY.md: 1 entry, 4 of 4000 characters"
    assert add(agent, "Two.").text.endswith(": 2 entries, 11 of 4000 characters")
    again = "Nothing to do: it is there already. memory/MEMORY.md: 2 entries, 11 of 4000 characters"
    assert add(agent, "Two.").text == again


@pytest.mark.parametrize(("arguments", "message"), CASES["test_a_wrong_combination_is_explained"])
def test_a_wrong_combination_is_explained(agent, arguments, message):
    failure = agent.expect_failure("memory", target="memory", **arguments)
    assert (failure.code, failure.message) == ("bad_arguments", message)


def test_of_a_very_long_memory_the_end_is_read(agent):
    write(agent, "memory/MEMORY.md", "a" + "b" * 199_999 + "\n")
    agent.brain.snapshot()
    answer = agent("memory", action="read", target="memory")
    assert answer.data["content"] == "b" * 199_999 + "\n"
    assert answer.text.startswith("b" * 199_999 + "\n(memory/MEMORY.md: 1 entry, 200000 of ")
    assert answer.data["entries"] == 1 and answer.data["characters"] == 200_000


@pytest.mark.parametrize(("target", "code"), [("../a.jsonl", "bad_path"), ("notes", "no_memory")])
def test_nothing_but_memory_is_read(agent, target, code):
    assert agent.expect_failure("memory", action="read", target=target).code == code


def test_a_memory_of_bytes_that_are_no_text_is_not_read(agent):
    (agent.brain.root / "memory/MEMORY.md").write_bytes(b"\xff")
    agent.brain.snapshot()
    failure = agent.expect_failure("memory", action="read", target="memory")
    assert failure.code == "not_text" and failure.message[0].isupper()
    assert failure.message.endswith(".")


# The tool memory in a home of a program, adopted in place: it writes where the program reads.
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
