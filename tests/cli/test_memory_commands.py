"""`brain memory`: what the tool of agents does, for a person."""

from pathlib import Path

import pytest

NOTES = "memory/MEMORY.md"
TOKEN = "ghp_" + "Zk3vB9qLx2" * 3 + "7Yw4Tq"


@pytest.fixture
def remembering(agent, cli):
    for text in ("Use tabs", "Use tabs in Makefiles", "Two\nlines"):
        assert cli("memory", "add", text).status == 0
    return agent


def test_entries_are_listed_with_numbers_and_what_else_there_is(remembering, cli):
    shown = cli("memory")
    assert shown.out.splitlines() == [
        "  1. Use tabs",
        "  2. Use tabs in Makefiles",
        "  3. Two",
        "     lines",
        f"{NOTES}: 3 entries, 44 of 4000 characters; there are: memory, user",
    ]
    document = cli("memory", "show", "--json").document
    assert document["entries"] == ["Use tabs", "Use tabs in Makefiles", "Two\nlines"]
    assert document["names"] == ["memory", "user"]
    assert Path(NOTES).read_text() == "Use tabs\n§\nUse tabs in Makefiles\n§\nTwo\nlines\n"


def test_an_edit_of_the_folder_is_recorded_before_it_is_listed(remembering, cli):
    with Path(NOTES).open("a") as file:
        file.write("§\nBy hand\n")
    shown = cli("memory", "show")
    assert "  4. By hand" in shown.out and "Recorded 1 edited file first" in shown.err
    assert cli("status", "--json").document["clean"]


def test_an_entry_is_removed_by_its_number_its_text_or_a_part(remembering, cli):
    several = cli("memory", "remove", "tabs")
    assert several.status == 1 and "1. Use tabs\n2. Use tabs in Makefiles" in several.err
    assert cli("memory", "remove", "Use tabs").status == 0
    assert cli("memory", "remove", "2").status == 0
    assert cli("memory", "show", "--json").document["entries"] == ["Use tabs in Makefiles"]
    assert cli("memory", "remove", "Makefiles").out.startswith(f"Removed. {NOTES}: 0 entries")
    assert cli("undo").status == 0
    assert "Use tabs in Makefiles" in Path(NOTES).read_text()


@pytest.mark.parametrize("entry", ["0", "4", "9" * 30, "spaces"])
def test_what_is_no_entry_is_refused_and_nothing_changes(remembering, cli, entry):
    before = Path(NOTES).read_bytes()
    told = cli("--json", "memory", "remove", entry)
    assert (told.status, told.error["code"]) == (1, "no_match") and told.error["hint"]
    assert Path(NOTES).read_bytes() == before


def test_other_memories_are_named_and_a_wrong_name_says_which_there_are(remembering, cli):
    assert cli("memory", "add", "Likes tea", "--to", "user").status == 0
    assert cli("memory", "add", '{"lesson": "Wait"}', "--to", "lessons.jsonl").status == 0
    assert cli("memory", "show", "lessons.jsonl").out.startswith('  1. {"lesson": "Wait"}\n')
    assert cli("memory", "remove", "tea", "--from", "user").status == 0
    assert cli("memory", "show", "user", "--json").document["entries"] == []
    told = cli("--json", "memory", "show", "nothing")
    assert (told.status, told.error["code"]) == (1, "no_memory")
    assert "memory, user, lessons.jsonl" in told.error["hint"]
    assert "'show user'" in cli("memory", "user").err


def test_an_entry_that_exists_is_not_added_again(remembering, cli):
    told = cli("memory", "add", "Use tabs")
    assert told.status == 0 and told.out.startswith("Nothing to do: it is there already.")
    assert cli("memory", "add", "Use tabs", "--json").document["changed"] is False


def test_a_secret_is_refused_and_what_may_be_one_is_told(remembering, cli):
    told = cli("--json", "memory", "add", f"The token is {TOKEN}")
    assert (told.status, told.error["code"]) == (1, "secret")
    assert TOKEN not in Path(NOTES).read_text()
    doubtful = cli("memory", "add", "password: hunter2xQ9Zrt")
    assert doubtful.status == 0 and "may hold a secret" in doubtful.err


def test_a_full_memory_says_how_to_make_room(agent, cli):
    assert cli("memory", "add", "x" * 3990).status == 0
    told = cli("memory", "add", "y" * 20)
    assert told.status == 1 and "4013 of 4000 characters" in told.err
    assert "`brain memory remove NUMBER`" in told.err


def test_an_entry_is_read_from_standard_input(process, agent):
    told = process("memory", "add", "-", cwd=agent, input=b"From a pipe\n")
    assert told.status == 0 and Path(NOTES).read_text() == "From a pipe\n"


def test_escapes_of_a_terminal_are_shown_not_sent(agent, cli):
    Path(NOTES).write_text("Red \x1b[31mtext\n")
    assert cli("memory").out.startswith("  1. Red \\x1b[31mtext\n")


def test_a_memory_of_no_brain_is_status_10(folder, cli):
    assert cli("memory").status == 10 and cli("memory", "add", "x").status == 10
