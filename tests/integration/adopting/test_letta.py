"""Agents of Letta: MemFS with its history, and agent files."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from brain import Brain, results
from brain.adopting import letta
from brain.errors import InvalidInput
from brain.objects import paths
from tests.support import planted_secrets
from tests.support.git_repositories import GitFiles, GitRepository
from tests.support.refusals import raises_code

PERSONA = b"---\nname: Persona\ndescription: Who I am.\n---\nI am patient.\n"
HUMAN = b"---\nname: Human\ndescription: Who they are.\n---\nA person who likes ships.\n"
KEY = planted_secrets.SECRET_MAKERS["model-api-key"](random.Random(31))


def memfs(path: Path, *states: GitFiles) -> GitRepository:
    repo = GitRepository(path)
    repo.run_git("config", "letta.agentId", "agent-local-1")
    parents: list[str] = []
    for number, files in enumerate(states):
        parents = [
            repo.commit(files, *parents, message=f"State {number}".encode(), author=b"Letta <l@x>")
        ]
    repo.check_out()
    return repo


def taken(source: Path, target: Path) -> results.Adopted:
    done = Brain.adopt(source, target)
    with Brain.open(target) as brain:
        verified = brain.verify(deep=True)
        assert verified.ok and verified.findings == [] and brain.status().clean
    return done


def prompt(target: Path) -> str:
    with Brain.open(target) as brain:
        return brain.prompt.build().prompt


def skipped_reasons(done: results.Adopted) -> dict[str, str]:
    return {notice.path: notice.message for notice in done.left_out}


def test_every_commit_of_a_memfs_is_a_snapshot_and_its_core_is_in_the_prompt(tmp_path):
    top: GitFiles = {"persona.md": PERSONA, "human.md": HUMAN, "MEMORY.md": b"# Memory\n"}
    skill = b"---\nname: sail\ndescription: Sail.\n---\nGo.\n"
    more: GitFiles = {**top, "reference/MEMORY.md": b"Deep.\n", "skills/sail/SKILL.md": skill}
    memfs(tmp_path / "memory", top, more)
    done = taken(tmp_path / "memory", tmp_path / "brain")
    assert (done.kind, done.steps) == ("letta", 2)
    text = prompt(tmp_path / "brain")
    assert "I am patient." in text and "likes ships" in text
    assert "Deep." not in text and "▸ sail: Sail." in text
    assert (tmp_path / "brain/memory/reference/MEMORY.md").read_text() == "Deep.\n"
    with Brain.open(tmp_path / "brain") as brain:
        assert [(s.message, s.author) for s in list(brain.history.log())[:2]] == [
            ("State 1", "Letta <l@x>"),
            ("State 0", "Letta <l@x>"),
        ]


def test_of_the_older_generation_what_is_below_system_is_in_the_prompt(tmp_path):
    state: GitFiles = {
        "system/persona.md": PERSONA,
        "system/human.md": HUMAN,
        "system/project/rules.md": b"Always test.\n",
        "notes.md": b"Not always.\n",
    }
    memfs(tmp_path / "memory", state)
    assert taken(tmp_path / "memory", tmp_path / "brain").kind == "letta-system"
    text = prompt(tmp_path / "brain")
    assert "I am patient." in text and "Always test." in text and "Not always." not in text


def test_new_memories_of_letta_and_of_the_brain_come_together(tmp_path):
    top: GitFiles = {"persona.md": PERSONA, "human.md": HUMAN, "MEMORY.md": b"# Memory\n"}
    repo = memfs(tmp_path / "memory", top)
    taken(tmp_path / "memory", tmp_path / "brain")
    (tmp_path / "brain/memory/MEMORY.md").write_text("# Memory\n\nOurs.\n")
    head = repo.run_git("rev-parse", "HEAD").decode().strip()
    repo.commit({**top, "persona.md": PERSONA + b"And curious.\n"}, head)
    with Brain.open(tmp_path / "brain") as brain:
        brain.snapshot("Ours")
    assert taken(tmp_path / "memory", tmp_path / "brain").steps == 1
    assert "And curious." in prompt(tmp_path / "brain") and "Ours." in prompt(tmp_path / "brain")


def test_a_copy_of_a_memfs_without_its_history_is_one_state(tmp_path):
    folder = tmp_path / "memory"
    folder.mkdir()
    for name, content in (("persona.md", PERSONA), ("human.md", HUMAN), ("MEMORY.md", b"# M\n")):
        (folder / name).write_bytes(content)
    done = taken(folder, tmp_path / "brain")
    assert (done.kind, done.steps) == ("letta", 1)


AGENT = {
    "name": "Sam",
    "system": "You are Sam.",
    "block_ids": ["block-0", "block-1"],
    "tool_exec_environment_variables": {"API_KEY": KEY},
    "secrets": [{"key": "API_KEY", "value": KEY}],
    "messages": [{"role": "user", "content": "hello"}] * 3,
    "llm_config": {"model": "m", "temperature": 0.7},
}
BLOCKS = [
    {"label": "human", "value": "Likes ships.", "description": 'Who: "they"\nare'},
    {"label": "persona", "value": "Patient.", "description": None},
    {"label": "Human", "value": "Another one."},
]
DOCUMENT: dict[str, Any] = {
    "agents": [AGENT, {"name": "Helper", "system": "You help Sam.", "messages": []}],
    "blocks": BLOCKS,
    "tools": [{"name": "t", "source_code": "print()"}],
    "mcp_servers": [{"server_url": "http://x", "token": KEY}],
    "files": [],
    "groups": [],
}


def agent_file(path: Path, document: Any) -> Path:
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def test_an_agent_file_gives_system_prompts_and_memory_and_names_the_rest(tmp_path):
    done = taken(agent_file(tmp_path / "sam.af", DOCUMENT), tmp_path / "brain")
    root = tmp_path / "brain"
    assert (root / "prompts/system.md").read_text() == "You are Sam."
    assert (root / "prompts/agents/helper.md").read_text() == "You help Sam."
    assert (root / "memory/human.md").read_text() == (
        '---\ndescription: "Who: \\"they\\"\\nare"\n---\nLikes ships.'
    )
    assert (root / "memory/persona.md").read_text() == "Patient."
    assert (root / "memory/human-2.md").read_text() == "Another one."
    text = prompt(root)
    assert text.startswith("You are Sam.") and "Likes ships." in text
    assert skipped_reasons(done) == {
        "agents[0].tool_exec_environment_variables": "secrets (1)",
        "agents[0].secrets": "secrets (1)",
        "agents[0].messages": "sessions, not memory (3)",
        "agents[0].llm_config": "settings of the program (2)",
        "mcp_servers": "secrets (1)",
        "tools": "code that runs at Letta, not a skill (1)",
    }
    everything = b"".join(path.read_bytes() for path in root.rglob("*") if path.is_file())
    assert KEY.encode() not in everything


def test_the_older_form_has_its_blocks_inside(tmp_path):
    document = {"system": "You are old.", "core_memory": BLOCKS[:1], "version": "0.6"}
    taken(agent_file(tmp_path / "old.af", document), tmp_path / "brain")
    assert (tmp_path / "brain/prompts/system.md").read_text() == "You are old."
    assert "Likes ships." in (tmp_path / "brain/memory/human.md").read_text()


def test_a_document_wrapped_in_a_string_is_read_too(tmp_path):
    taken(agent_file(tmp_path / "sam.af", json.dumps(json.dumps(DOCUMENT))), tmp_path / "brain")
    assert (tmp_path / "brain/memory/persona.md").read_text() == "Patient."


def test_a_block_that_holds_a_secret_stays_out(tmp_path):
    document = {**DOCUMENT, "blocks": [{"label": "human", "value": f"key {KEY}"}, *BLOCKS[1:2]]}
    done = taken(agent_file(tmp_path / "sam.af", document), tmp_path / "brain")
    assert not (tmp_path / "brain/memory/human.md").exists()
    assert skipped_reasons(done)["blocks[0]"].startswith("model-api-key in line 1")


def test_labels_cannot_lead_out_of_the_memory(tmp_path):
    blocks = [{"label": "../../../x", "value": "1"}, {"label": "", "value": "2"}, {"value": "3"}]
    skills = [{"name": "../s", "files": {"../../../etc/x": "1", "SKILL.md": "# s\n"}}]
    document = {"agents": [AGENT], "blocks": blocks, "skills": skills}
    done = taken(agent_file(tmp_path / "sam.af", document), tmp_path / "brain")
    found = {row.path for row in done.taken}
    assert found == {
        "prompts/system.md", "memory/block.md", "memory/block-2.md", "memory/block-3.md",
        "skills/skill/SKILL.md",
    }  # fmt: skip


def test_blocks_of_one_label_are_numbered_without_trying_a_number_twice(tmp_path, monkeypatch):
    tried: list[str] = []
    fold = paths.fold_name

    def counted(path: str) -> str:
        tried.append(path)
        return fold(path)

    monkeypatch.setattr(paths, "fold_name", counted)
    labels = ["note-3", *["note"] * 400, "note-2"]
    blocks = [{"label": label, "value": label} for label in labels]
    seen = Brain.preview_adoption(
        agent_file(tmp_path / "sam.af", {**DOCUMENT, "blocks": blocks}), tmp_path / "brain"
    )
    names = {row.path for row in seen.taken if row.path.startswith("memory/")}
    numbered = {f"memory/note-{number}.md" for number in range(2, 402)}
    assert names == {"memory/note.md", "memory/note-2-2.md", *numbered}
    assert len(tried) < 5 * len(labels)


def test_two_skills_of_one_name_keep_the_folders_and_endings_of_their_files(tmp_path):
    files = {"SKILL.md": "# s\n", "bin.d/run": "x", ".keep": "k"}
    skills = [{"name": "s", "files": files}] * 2
    document = {"agents": [{"name": "Sam"}], "skills": skills}
    done = taken(agent_file(tmp_path / "sam.af", document), tmp_path / "brain")
    assert {row.path for row in done.taken} == {
        "skills/s/SKILL.md", "skills/s/bin.d/run", "skills/s/.keep",
        "skills/s/SKILL-2.md", "skills/s/bin.d/run-2", "skills/s/.keep-2",
    }  # fmt: skip


def test_more_blocks_than_a_brain_takes_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(letta, "MAX_HOME_FILES", 4)
    Brain.adopt(
        agent_file(tmp_path / "sam.af", {**DOCUMENT, "blocks": BLOCKS[:2]}), tmp_path / "few"
    )
    with raises_code("too_many", InvalidInput):
        Brain.adopt(agent_file(tmp_path / "sam.af", DOCUMENT), tmp_path / "brain")
    assert not (tmp_path / "brain").exists()


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "null", '"x"', '{"agents": 3', "[" * 10_000, json.dumps("[" * 10_000), "\x00"],
)
def test_what_is_no_agent_file_is_refused(tmp_path, text):
    with raises_code("bad_agent_file", InvalidInput):
        Brain.adopt(agent_file(tmp_path / "bad.af", text), tmp_path / "brain")


def test_fields_of_other_types_are_passed_over(tmp_path):
    document = {
        "agents": [{"system": 3, "messages": "no", "name": []}, 7],
        "blocks": [{"label": "human", "value": 3}, {"label": "persona", "value": "Sam."}],
        "skills": [{"files": {"SKILL.md": 3}}, None],
    }
    done = taken(agent_file(tmp_path / "odd.af", document), tmp_path / "brain")
    assert [row.path for row in done.taken] == ["memory/persona.md"]


def test_a_file_of_another_name_is_one_if_the_user_says_so(tmp_path):
    source = agent_file(tmp_path / "sam.json", DOCUMENT)
    done = Brain.adopt(source, tmp_path / "brain", "letta-file")
    assert done.kind == "letta-file" and len(done.taken) == 5
