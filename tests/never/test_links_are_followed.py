"""Where the content of a file is shown, a link is shown as the file that it leads to."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from brain import Brain
from brain.errors import NotFound
from tests.cli.conftest import Call, cli, keys
from tests.support.refusals import raises_code

__all__ = ["cli", "keys"]

RULES = "Run the checks before a commit."
CASE = "input: secret question\nexpect:\n  contains: secret answer\n"
LINKS = {
    "CLAUDE.md": "AGENTS.md",
    "memory/MEMORY.md": "../facts.md",
    "prompts/fragments/rules.md": "../../AGENTS.md",
    "prompts/fragments/loop.md": "pool.md",
    "prompts/fragments/pool.md": "loop.md",
    "prompts/fragments/dead.md": "nowhere.md",
    "skills/a/references/c.md": "../../c/SKILL.md",
    "skills/a/references/again.md": "c.md",
    "skills/a/references/dead.md": "nowhere.md",
    "skills/a/references/case.md": "../../c/cases/one.yaml",
    "skills/a/docs": "../../docs",
    "skills/d": "../.agents/skills/d",
    "skills/e/SKILL.md": "../c/SKILL.md",
}
"""By path: where the link leads."""
FILES = {
    "AGENTS.md": RULES,
    "facts.md": "One fact.",
    "docs/guide.md": "The guide.",
    "skills/c/cases/one.yaml": CASE,
    "manifest.yaml": "prompt:\n  system: [CLAUDE.md, AGENTS.md]\n",
    **{
        f"{folder}/{name}/SKILL.md": f"---\nname: {name}\ndescription: {name}\n---\nDo {name}."
        for folder, name in (("skills", "a"), ("skills", "c"), (".agents/skills", "d"))
    },
}


@pytest.fixture
def folder(tmp_path):
    """A brain with links of all kinds."""
    with Brain.init(tmp_path / "b") as brain:
        for path, text in FILES.items():
            file = brain.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{text}\n")
        for path, target in LINKS.items():
            (brain.root / path).parent.mkdir(parents=True, exist_ok=True)
            os.symlink(target, brain.root / path)
        brain.snapshot()
        return brain.root


def call(cli: Call, folder: Path, tool: str, **arguments: str) -> tuple[int, str]:
    told = cli("-C", str(folder), "tools", "call", tool, json.dumps(arguments))
    return told.status, told.out + told.err


def test_the_prompt_has_a_linked_text_once_and_no_line_for_a_link(folder, cli):
    prompt = cli("-C", str(folder), "prompt").out
    assert prompt.count(RULES) == prompt.count("One fact.") == 1
    assert not set(prompt.splitlines()) & set(LINKS.values())
    (folder / "manifest.yaml").rename(folder / "settings.yaml")
    (folder / "manifest.yaml").symlink_to("settings.yaml")
    cli("-C", str(folder), "snapshot")
    assert cli("-C", str(folder), "prompt").out.count(RULES) == 1


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("references/c.md", "Do c."),
        ("references/again.md", "Do c."),
        ("docs/guide.md", "The guide."),
        ("references/dead.md", "is a link to nowhere.md, where no file is"),
        ("docs", "is a link to ../../docs, where no file is"),
        ("docs/../AGENTS.md", "has no file"),
        ("references/case.md", "has no file"),
        ("references/none.md", "has no file"),
    ],
)
def test_a_linked_file_of_a_skill_is_read_as_what_it_leads_to(folder, cli, file, said):
    status, text = call(cli, folder, "skill_view", name="a", file_path=file)
    assert said in text and "secret" not in text and (status == 0) == said.endswith(".")


def test_a_skill_names_the_files_that_can_be_read_also_those_in_a_linked_folder(folder, cli):
    (folder / "skills/a/all").symlink_to("../c")
    cli("-C", str(folder), "snapshot")
    named = call(cli, folder, "skill_view", name="a")[1].rpartition("file_path: ")[2]
    assert set(named.strip().split(", ")) == {
        "all/SKILL.md",
        "docs/guide.md",
        *(f"references/{name}.md" for name in ("again", "c", "dead")),
    }


def test_lists_views_and_the_index_agree_on_skills_that_are_links(folder, cli):
    names = [line.split()[0] for line in cli("-C", str(folder), "skill", "list").out.splitlines()]
    index = cli("-C", str(folder), "index").out.splitlines()
    assert [line.split()[1].strip(":") for line in index] == names == ["a", "c", "d"]
    with Brain.open(folder) as brain:
        for name in names:
            assert brain.skills.read_file(name).content.endswith(f"Do {name}.\n".encode())
        with pytest.raises(NotFound):
            brain.skills.view("e")


def test_memory_that_is_a_link_is_kept_in_the_file_it_leads_to(folder, cli):
    status, _ = call(cli, folder, "memory", target="memory", action="add", content="Wants tabs.")
    assert status == 0 and (folder / "memory/MEMORY.md").is_symlink()
    assert (folder / "facts.md").read_text() == "One fact.\n§\nWants tabs.\n"
    assert "Wants tabs." in call(cli, folder, "memory", target="memory", action="read")[1]
    for target in ("../manifest.yaml", "../skills/c/SKILL.md"):
        (folder / "memory/MEMORY.md").unlink()
        (folder / "memory/MEMORY.md").symlink_to(target)
        cli("-C", str(folder), "snapshot")
        written = call(cli, folder, "memory", target="memory", action="add", content="mode: gated")
        assert written[0] != 0 and "mode: gated" not in (folder / "memory" / target).read_text()


def test_python_reads_the_file_of_a_link_and_what_is_stored_of_it(folder):
    with Brain.open(folder) as brain:
        assert brain.files.read("CLAUDE.md") == f"{RULES}\n".encode()
        assert brain.files.read("skills/a/docs/guide.md") == b"The guide.\n"
        assert brain.files.read_stored("CLAUDE.md") == b"AGENTS.md"
        for path, code in (("prompts/fragments/loop.md", "dead_link"), ("skills/x", "no_path")):
            with raises_code(code, NotFound):
                brain.files.read(path)
