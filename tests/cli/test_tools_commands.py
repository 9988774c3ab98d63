"""`brain tools`: the definitions, and a call from a shell."""

import json

import pytest

from brain.serve.tools.definitions import EXPORT_FORMATS
from brain.serve.tools.programs import list_built_in_tools


@pytest.mark.parametrize("form", ["openai", "responses", "anthropic", "mcp"])
def test_the_definitions_are_printed_ready_to_be_sent(cli, form, folder):
    told = cli("tools", "list", "--for", form)
    assert told.status == 0 and json.loads(told.out) == EXPORT_FORMATS[form](list_built_in_tools())
    assert cli("tools", "list", "--for", form, "--json").document["form"] == form


def test_the_list_for_people_has_a_line_for_each(cli, folder):
    lines = cli("tools", "list").out.splitlines()
    assert [line.split()[0] for line in lines] == [tool.name for tool in list_built_in_tools()]


def test_a_call_prints_what_the_model_is_told(cli, agent):
    told = cli("tools", "call", "skill_view", '{"name": "reentrancy"}')
    assert told.status == 0 and "Body of reentrancy." in told.out
    document = cli("tools", "call", "skills_list", "--json").document
    assert document["changed"] is False and document["data"]["count"] == 2


def test_a_call_takes_its_arguments_from_standard_input(process, agent):
    given = {"action": "create", "name": "new", "content": "Do it.\n"}
    told = process(
        "tools", "call", "skill_manage", "-", cwd=agent, input=json.dumps(given).encode()
    )
    assert told.status == 0 and told.out.startswith("Created new, version 1")


def test_a_failing_call_is_an_error_with_its_code(cli, agent):
    told = cli("tools", "call", "skill_view", '{"name": "reentrency"}')
    assert told.status == 1 and told.out == ""
    assert (
        told.err == "Error: The skill reentrency does not exist.\nHint: Did you mean reentrancy?\n"
    )
    told = cli("--json", "tools", "call", "skill_view", "{")
    assert told.status == 1 and told.error["code"] == "bad_arguments"
    assert cli("tools", "call", "nothing").status == 1


def test_a_call_without_a_brain_says_so(cli, folder):
    assert cli("tools", "call", "skills_list").status == 10
