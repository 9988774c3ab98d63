"""Every secret of a file is shown, each hint is a command that works, and no reason is untrue."""

from __future__ import annotations

import random
import re
import shlex

import pytest

from brain import Brain
from brain.errors import ToolFailure
from brain.serve.tools import Toolbox
from tests.cli.conftest import cli, folder
from tests.support.agent_homes import skill_text, write_files
from tests.support.planted_secrets import SECRET_MAKERS
from tests.support.refusals import raises_code

__all__ = ["cli", "folder"]

SECRETS = [SECRET_MAKERS["github-token"](random.Random(seed)) for seed in range(3)]
DEPLOY = skill_text("deploy", "Deploy") + "".join(f"export KEY={one}\n" for one in SECRETS)


@pytest.fixture
def home(folder):
    files = {"skills/deploy/SKILL.md": DEPLOY, "skills/ok/SKILL.md": skill_text("ok", "Fine")}
    return write_files(folder / "home", files)


def list_ids(text: str) -> list[str]:
    return re.findall(r"--allow ([0-9a-f]+)", text)


@pytest.mark.parametrize("into", [["mind"], []], ids=["copied", "in place"])
def test_adopting_shows_every_secret_and_the_ids_that_let_the_file_in(home, cli, into):
    first = cli("adopt", str(home), *into)
    ids = list_ids(first.out)
    assert first.status == 0 and len(set(ids)) == 3
    lines = [n for n, line in enumerate(DEPLOY.splitlines(), 1) if line.startswith("export")]
    assert all(f"line {number}" in first.out for number in lines)
    assert not any(secret in first.out for secret in SECRETS)

    again = cli("adopt", str(home), *into, "--allow", ids[0])
    assert again.status == 0 and list_ids(again.out) == ids[1:]
    assert cli("adopt", str(home), *into).out.count("--allow") == 3

    options = [option for one in ids for option in ("--allow", one)]
    assert cli("adopt", str(home), *into, *options).status == 0
    with Brain.open(into[0] if into else home) as brain:
        assert [skill.slug for skill in brain.skills.list()] == ["deploy", "ok"]


def test_hints_about_what_is_left_out_are_commands_that_work(home, cli):
    assert cli("adopt", str(home)).status == 0
    for shown in (cli("-C", str(home), "status"), cli("-C", str(home), "snapshot")):
        for command in re.findall(r"`brain (.*?)`", shown.out + shown.err):
            assert cli("-C", str(home), *shlex.split(command)).status == 0, command


def test_publishing_shows_every_secret_and_the_ids_that_let_the_file_out(folder, cli):
    with Brain.init(folder / "mind") as brain:
        brain.skills.upsert("deploy", DEPLOY.split("---\n")[-1], description="Deploy")
    publish = ["-C", "mind", "publish", "--to", "claude", str(folder / "target")]
    held = cli(*publish)
    ids = list_ids(held.out + held.err)
    assert held.status == 1 and len(set(ids)) == 3
    assert cli(*publish, *(option for one in ids for option in ("--allow", one))).status == 0
    (written,) = (folder / "target").rglob("deploy/SKILL.md")
    assert SECRETS[2] in written.read_text()


def test_a_tool_names_every_secret_of_a_text_that_it_refuses(folder):
    with Brain.init(folder / "mind") as brain, brain.task("Write") as task:
        with raises_code("secret", ToolFailure) as caught:
            Toolbox(brain, task).call(
                "skill_manage", {"action": "create", "name": "deploy", "content": DEPLOY}
            )
        assert caught.value.text.count("looks like a secret") == 3
        ids = [finding.id for finding in brain.secrets.scan_text(DEPLOY.encode())]
        assert all(one in caught.value.text for one in ids)


def test_small_files_are_searched_until_the_budget_of_a_snapshot_is_used_up(folder, cli):
    assert cli("init", "mind").status == 0
    write_files(
        folder / "mind",
        {f"memory/{number}.md": "x" * (1 << 20) for number in range(5)}
        | {"memory/small.md": f"export KEY={SECRETS[0]}\n"},
    )
    said = cli("-C", "mind", "snapshot")
    text = said.out + said.err
    assert said.status == 0 and "memory/small.md" in text and "looks like a secret" in text
    assert "2 files were not scanned for secrets: a snapshot scans 4 MiB" in text
    assert "too large" not in text and "`brain secrets` all" in text
    assert cli("-C", "mind", "secrets").status != 0
