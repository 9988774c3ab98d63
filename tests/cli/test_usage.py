"""Calls that cannot be understood end with status 2 and one clear line (cli-02, cli-08)."""

import pytest
from brain_cli.invocation import MAX_ARGUMENTS
from brain_cli.registry import (
    ALIASES,
    CAREFUL_COMMANDS,
    COMMAND_SYNONYMS,
    DEFAULT_COMMANDS,
    RENAMED_OPTIONS,
)

from tests.support.cases import read_cases

CASES = read_cases(__file__)

NUMBERS = ["", "-1", "1e9", "0x10", "NaN", "1.0", " 1", "+1", "1_000", "٣", "9" * 400, "1000000001"]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("call", CASES["test_a_number_in_another_form_is_refused"])
def test_a_number_in_another_form_is_refused(cli, call, number):
    *words, option = call
    told = cli(*words, f"{option}={number}")
    assert told.status == 2 and told.out == ""
    error, hint = told.err.splitlines()
    assert error.startswith("Error: ") and len(error) < 200
    assert hint == f"Hint: see 'brain {words[0]} --help'"


def test_a_refused_number_is_named_with_its_option(cli):
    assert cli("index", "--max-chars=1e9").err == (
        "Error: Invalid value for '--max-chars': '1e9' is not a whole number from 0 to 1000000000\n"
        "Hint: see 'brain index --help'\n"
    )


@pytest.mark.parametrize("call", CASES["test_an_option_with_a_value_is_given_once"])
def test_an_option_with_a_value_is_given_once(cli, call):
    told = cli(*call)
    assert told.status == 2
    assert "given more than once" in told.err


@pytest.mark.parametrize(
    "call", CASES["test_an_empty_revision_of_a_variable_not_set_does_not_stand_for_the_head"]
)
def test_an_empty_revision_of_a_variable_not_set_does_not_stand_for_the_head(cli, call):
    told = cli(*call)
    assert told.status == 2 and told.out == ""
    assert "the value is empty" in told.err


@pytest.mark.parametrize("given", ["-n=1", "-n1", "-n 1", "--limit=1"])
def test_a_value_may_stand_behind_a_short_option_as_behind_a_long_one(
    cli, given, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    cli("init", ".")
    assert cli("log", *given.split()).out.count("\n") == 1


def test_a_mistyped_command_is_answered_with_the_nearest_ones(cli):
    assert cli("snapshto").err == (
        "Error: No such command 'snapshto'. Did you mean 'snapshot'?\nHint: see 'brain --help'\n"
    )
    assert "Did you mean 'upsert'?" in cli("skill", "upser").err


def test_a_word_of_another_program_is_answered_with_what_it_is_called_here(cli):
    assert cli("checkout").err == (
        "Error: No such command 'checkout'. Did you mean 'switch' or 'restore'?\n"
        "Hint: see 'brain --help'\n"
    )
    assert "Did you mean 'delete'?" in cli("skill", "rm").err


@pytest.mark.parametrize(
    ("group", "word", "meant"),
    [(group, word, meant) for group, words in ALIASES.items() for word, meant in words.items()],
)
def test_another_word_for_a_command_is_that_command(cli, group, word, meant):
    told = cli(*group.split(), word, "--help")
    assert told.status == 0
    assert told.out == cli(*group.split(), *meant.split(), "--help").out


def test_no_other_word_stands_for_a_command_that_destroys_or_decides():
    meant = {
        name for words in ALIASES.values() for names in words.values() for name in names.split()
    }
    assert meant.isdisjoint(CAREFUL_COMMANDS)


def test_commit_records_and_says_what_commits_to_a_ledger(agent, cli):
    (agent / "memory/note.md").write_text("Noted.\n")
    told = cli("commit", "-m", "Noted")
    assert told.status == 0 and "brain chain commit" in told.err
    assert cli("log", "-n", "1", "--json").document["snapshots"][0]["message"] == "Noted"
    assert cli("commit", "--json").err == ""


def test_help_is_a_command_too(cli):
    assert cli("help").out == cli("--help").out
    assert cli("help", "skill", "upsert").out == cli("skill", "upsert", "--help").out
    assert cli("help", "nothing").status == 2


def test_help_knows_the_natural_words(cli):
    assert cli("help", "help").out == cli("--help").out
    assert cli("help", "search").out == cli("grep", "--help").out
    assert cli("help", "commit").out == cli("snapshot", "--help").out
    assert cli("help", "skill", "show").out == cli("skill", "view", "--help").out


@pytest.mark.parametrize("words", [("edit",), ("skill", "edit")])
def test_edit_without_a_change_makes_no_version(agent, cli, words):
    told = cli(*words, "oracle-manipulation")
    assert told.status == 0 and told.out.startswith("oracle-manipulation unchanged at version")
    assert told.err.startswith("This is `brain skill upsert`")


@pytest.mark.parametrize("group", DEFAULT_COMMANDS)
def test_a_bare_group_lists_what_there_is(agent, cli, group):
    if group != "mcp":  # which serves until its client goes
        told = cli(*group.split())
        assert told.status == 0
        assert told.out == cli(*group.split(), DEFAULT_COMMANDS[group]).out


def test_head_is_the_head(agent, cli):
    assert cli("show", "HEAD").out == cli("show", "@").out
    assert cli("log", "HEAD~1..HEAD").out == cli("log", "@~1..@").out
    assert cli("branch", "HEAD").status == 0
    assert cli("diff", "HEAD", "@").status == 0


def test_options_of_all_commands_stand_behind_the_command_too(agent, cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (agent / "memory/note.md").write_text("Noted.\n")
    told = cli("snapshot", "-C", str(agent), "-m", "Noted", "--author", "ada", "--no-color")
    assert told.status == 0
    assert "ada" in cli("log", "-n", "1", "--no-pager", "-C", str(agent)).out
    assert cli("status", "-C", str(tmp_path / "nothing")).status == 10
    assert cli("status", "-C", "a", "-C", "b").status == 2
    inside = cli("skill", "-C", str(agent), "--json", "list")
    assert inside.document == cli("-C", str(agent), "skill", "list", "--json").document
    assert cli("skill", "--no-color", "-C", str(agent)).out == cli("-C", str(agent), "skill").out
    assert cli("skill", "-C", str(agent), "list", "--nonsense").status == 2


@pytest.mark.parametrize(
    ("group", "word", "meant"),
    [
        (group, word, meant)
        for group, words in COMMAND_SYNONYMS.items()
        for word, all_meant in words.items()
        for meant in all_meant
    ],
)
def test_a_word_of_another_program_leads_to_a_command_that_is_there(cli, group, word, meant):
    assert cli(*group.split(), word).status == 2, "it is a command by now"
    words = [word for word in meant.partition(" --")[0].split() if not word.isupper()]
    words = words[1:] if words[0] == "brain" else [*group.split(), *words]
    words = [word for word in words if not word.startswith("SKILL")]
    assert cli(*words, "--help").status == 0


def test_a_mistyped_option_is_answered_with_the_nearest_one(cli):
    assert "--graph" in cli("log", "--grahp").err


@pytest.mark.parametrize(
    ("command", "earlier", "name"),
    [
        (command, earlier, name)
        for command, names in RENAMED_OPTIONS.items()
        for earlier, name in names.items()
    ],
)
def test_an_earlier_spelling_of_an_option_is_answered_with_its_name(cli, command, earlier, name):
    error = f"Error: No such option '{earlier}'.\nHint: {earlier} is now {name}\n"
    assert cli(*command.split(), earlier, "1").err == error
    told = cli(*command.split(), "--help").out
    words = name.strip("'").partition("brain ")[2]
    assert f"  {name}" in told or words.startswith(command)


def test_an_unknown_command_cannot_steer_the_terminal(cli):
    told = cli("\x1b[2J\u202e")
    assert told.status == 2
    assert "\x1b" not in told.err and "\u202e" not in told.err


@pytest.mark.parametrize("place", [0, 1])
def test_a_usage_error_is_json_wherever_json_is_asked_for(cli, place):
    words = ["log", "--nonsense"]
    words.insert(place, "--json")
    told = cli(*words)
    assert told.status == 2 and told.out == ""
    assert told.error == {
        "code": "usage",
        "message": "No such option '--nonsense'.",
        "hint": "see 'brain log --help'",
    }


def test_a_huge_argument_is_refused_with_a_short_message(cli):
    told = cli("x" * 131_072)
    assert told.status == 2 and len(told.err) < 300


def test_too_many_arguments_are_refused_with_the_limit(cli):
    told = cli("restore", "@", *["skills/x"] * 100_000)
    assert told.status == 2
    assert f"more than {MAX_ARGUMENTS}" in told.err and "folder" in told.err


def test_an_empty_folder_name_is_refused(cli):
    told = cli("-C", "", "status")
    assert (told.status, told.err) == (
        2,
        "Error: the folder after -C is empty\nHint: name the folder of a brain\n",
    )
