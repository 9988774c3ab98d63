"""Completion scripts, and what they are answered."""

import subprocess

import pytest
from brain_cli.shell_completion import SHELLS

from tests.cli.conftest import environment, validate


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_asks_the_command_through_its_variable(cli, shell):
    told = cli("completion", shell)
    assert told.status == 0 and told.err == ""
    assert "_BRAIN_COMPLETE" in told.out and f"{shell}_complete" in told.out


def test_a_script_is_json_on_request(cli):
    document = cli("completion", "fish", "--json").document
    validate("completion", document)
    assert document["script"].rstrip("\n") == cli("completion", "fish").out.rstrip("\n")


def test_the_script_for_bash_is_bash(cli):
    script = cli("completion", "bash").out
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def test_an_unknown_shell_is_a_usage_error(cli):
    assert cli("completion", "tcsh").status == 2


def test_bash_is_answered_with_the_commands_that_begin_so(process):
    asked = environment(_BRAIN_COMPLETE="bash_complete", COMP_WORDS="brain s", COMP_CWORD="1")
    told = process(env=asked)
    words = "status snapshot skill show sign switch secrets".split()
    assert told.out.split() == [f"plain,{word}" for word in words]


def test_powershell_is_answered_with_kind_value_and_help(process):
    asked = environment(
        _BRAIN_COMPLETE="powershell_complete", COMP_WORDS="brain\nskill", COMP_WORD="up"
    )
    told = process(env=asked)
    assert told.out == "plain\tupsert\tCreate a skill, or write its next version.\n"


def test_slugs_of_the_brain_are_completed(agent, process):
    asked = environment(
        _BRAIN_COMPLETE="bash_complete", COMP_WORDS="brain skill view or", COMP_CWORD="3"
    )
    assert process(cwd=agent, env=asked).out == "plain,oracle-manipulation\n"


def test_without_a_brain_nothing_is_completed_and_nothing_said(process):
    asked = environment(
        _BRAIN_COMPLETE="bash_complete", COMP_WORDS="brain skill view or", COMP_CWORD="3"
    )
    told = process(env=asked)
    assert (told.out.strip(), told.err) == ("", "")
