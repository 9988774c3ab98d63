"""Agents of Letta: the two generations of MemFS."""

from pathlib import Path

from brain import Brain, results
from tests.support.git_repositories import GitFiles, GitRepository

PERSONA = b"---\nname: Persona\ndescription: Who I am.\n---\nI am patient.\n"
HUMAN = b"---\nname: Human\ndescription: Who they are.\n---\nA person who likes ships.\n"


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


def test_the_core_of_a_memfs_is_in_the_prompt_and_the_rest_is_memory(tmp_path):
    top: GitFiles = {"persona.md": PERSONA, "human.md": HUMAN, "MEMORY.md": b"# Memory\n"}
    skill = b"---\nname: sail\ndescription: Sail.\n---\nGo.\n"
    more: GitFiles = {**top, "reference/MEMORY.md": b"Deep.\n", "skills/sail/SKILL.md": skill}
    memfs(tmp_path / "memory", top, more)
    done = taken(tmp_path / "memory", tmp_path / "brain")
    assert (done.kind, done.changed) == ("letta", True)
    text = prompt(tmp_path / "brain")
    assert "I am patient." in text and "likes ships" in text
    assert "Deep." not in text and "▸ sail: Sail." in text
    assert (tmp_path / "brain/memory/reference/MEMORY.md").read_text() == "Deep.\n"


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
    repo.check_out()
    with Brain.open(tmp_path / "brain") as brain:
        brain.snapshot("Ours")
    assert taken(tmp_path / "memory", tmp_path / "brain").changed
    assert "And curious." in prompt(tmp_path / "brain") and "Ours." in prompt(tmp_path / "brain")


def test_a_copy_of_a_memfs_without_its_history_is_one_state(tmp_path):
    folder = tmp_path / "memory"
    folder.mkdir()
    for name, content in (("persona.md", PERSONA), ("human.md", HUMAN), ("MEMORY.md", b"# M\n")):
        (folder / name).write_bytes(content)
    done = taken(folder, tmp_path / "brain")
    assert (done.kind, done.changed) == ("letta", True)
