"""Every secret of a file is shown, each hint is a command that works, and no reason is untrue."""

from __future__ import annotations

import json
import random
import re
import shlex

import pytest
from brain_cli.invocation import run_cli

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


# A key that `key new` printed is taken wherever a key of one's own is named.
OTHER = "ed25519:3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    capsys.readouterr()
    return run_cli(list(words)), *capsys.readouterr()


@pytest.mark.parametrize("by", ["setting", "variable", "option"])
def test_the_key_signs_by_what_was_printed(by, tmp_path, monkeypatch, capsys):
    for name in ("BRAIN_KEYS", "BRAIN_CONFIG", "BRAIN_ROOTS"):
        monkeypatch.setenv(name, str(tmp_path / "user" / name))
    key = run(capsys, "key", "new", "mine")[1].strip()
    run(capsys, "key", "new", "another")
    for name in (key, OTHER):
        expected, code = (0, None) if name == key else (1, "no_key")
        with Brain.init(tmp_path / f"brain-{len(name)}-{expected}") as brain:
            root = str(brain.root)
        if by == "setting":
            status, out, err = run(capsys, "config", "sign", name, "--json")
        elif by == "variable":
            monkeypatch.setenv("BRAIN_SIGN_KEY", name)
            words = ("-C", root, "skill", "upsert", "x", "-d", "d", "--json")
            status, out, err = run(capsys, *words)
        else:
            status, out, err = run(capsys, "-C", root, "sign", "--key", name, "--json")
        assert status == expected, err
        assert (json.loads(err)["error"]["code"] if code else None) == code
        if by == "setting" and not code:
            assert json.loads(out)["settings"][0]["value"] == "mine"
            assert run(capsys, "-C", root, "skill", "upsert", "x", "-d", "d")[0] == 0
        if not code:
            with Brain.open(root) as brain:
                assert next(iter(brain.history.log())).signers == [key]
            rows = json.loads(run(capsys, "key", "list", "--json")[1])["keys"]
            signs = [row["name"] for row in rows if row["signs"]]
            assert signs == ([] if by == "option" else ["mine"])
