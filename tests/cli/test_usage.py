"""Calls that cannot be understood end with status 2 and one clear line (cli-02, cli-08)."""

import pytest
from brain_cli.invocation import MAX_ARGUMENTS
from brain_cli.synonyms import COMMAND_SYNONYMS, RENAMED_OPTIONS

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
    assert hint == f"Hint: see 'brain {' '.join(words)} --help'"


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
    assert cli("commit").err == (
        "Error: No such command 'commit'. Did you mean 'snapshot'?\nHint: see 'brain --help'\n"
    )
    assert "Did you mean 'upsert'?" in cli("skill", "new").err


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
    assert cli(*group.split(), *meant.partition(" --")[0].split()[:2], "--help").status == 0


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
    assert f"  {name}" in cli(*command.split(), "--help").out


@pytest.mark.parametrize("option", ["-C", "--author", "--no-color"])
def test_an_option_of_all_commands_stands_before_the_command(cli, option):
    told = cli("log", option, "x")
    assert told.status == 2
    assert told.err.endswith(f"Hint: {option} comes before the command\n")


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
