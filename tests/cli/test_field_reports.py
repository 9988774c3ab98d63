"""What people reported of other programs that keep skills, tried on this one.

Each test names the report: a repository on GitHub and the number of its issue or pull request.
"""

import json
import os
import stat
import unicodedata
import zipfile
from pathlib import Path

import pytest

from brain import Brain
from tests.support.agent_homes import skill_text, write_files

UTF8_NAME = 1 << 11


def write_skill(place: str, name: str, about: str, body: str = "Do it.\n") -> Path:
    """Write a skill into a folder below the current one."""
    write_files(Path(place), {"SKILL.md": skill_text(name, about, body=body)})
    return Path(place) / "SKILL.md"


def read_tree(place: Path) -> dict[str, bytes]:
    """Return the files below a folder, and the targets of its links."""
    return {
        str(path.relative_to(place)): os.readlink(path).encode()
        if path.is_symlink()
        else path.read_bytes()
        for path in place.rglob("*")
        if path.is_symlink() or path.is_file()
    }


def test_what_was_added_to_an_adopted_skill_stays_when_its_source_goes_on(folder, cli):
    """nrjdalal/zerostarter 750."""
    source = write_skill("src/skills/design", "design", "Design", "First.\nSecond.\nThird.\n")
    cli("adopt", "src", "agent")
    ours = Path("agent/skills/design/SKILL.md")
    ours.write_text(ours.read_text() + "Only here.\n")
    source.write_text(source.read_text().replace("First.", "First of all."))
    assert cli("adopt", "src", "agent").status == 0
    text = ours.read_text()
    assert "First of all." in text and text.endswith("Only here.\n")


def test_a_file_that_could_not_be_taken_is_named_again_and_taken_once_it_can(folder, cli):
    """neutree-ai/agent-platform 203."""
    write_skill("src/skills/big", "big", "Has a large file")
    large = Path("src/skills/big/model.bin")
    with large.open("wb") as file:
        file.truncate(60 << 20)
    for _ in range(2):
        told = cli("adopt", "src", "agent")
        assert told.status == 0 and "skills/big/model.bin" in told.out
    large.write_bytes(b"small")
    assert "model.bin" not in cli("adopt", "src", "agent").out
    assert Path("agent/skills/big/model.bin").read_bytes() == b"small"


def test_a_description_of_several_lines_is_one_line_and_a_missing_name_is_the_folders(folder, cli):
    """affaan-m/ECC 1663."""
    head = "---\nname: forge\ndescription: |-\n  Make masks.\n  Not faces.\n---\n\nBody\n"
    write_files(Path("src/skills"), {"forge/SKILL.md": head})
    write_files(Path("src/skills"), {"stock/SKILL.md": '---\ndescription: "Audit: all"\n---\n'})
    cli("adopt", "src", "agent")
    lines = cli("-C", "agent", "index").out.splitlines()
    assert "▸ forge: Make masks. Not faces." in lines and "▸ stock: Audit: all" in lines


def test_a_replaced_memory_keeps_what_another_program_wrote_meanwhile(folder, cli):
    """NousResearch/hermes-agent 26045."""
    cli("init")
    cli("memory", "add", "Uses pip")
    memory = Path("memory/MEMORY.md")
    memory.write_text("Structured by another session\n§\n" + memory.read_text())
    call = {"action": "replace", "target": "memory", "old_text": "pip", "content": "Uses uv"}
    assert cli("tools", "call", "memory", json.dumps(call)).status == 0
    assert memory.read_text().split("\n§\n") == ["Structured by another session", "Uses uv\n"]


@pytest.mark.parametrize("removed", [False, True])
def test_a_skill_of_somebody_else_with_the_same_name_is_neither_replaced_nor_removed(
    removed, folder, cli
):
    """mattpocock/skills 389."""
    write_skill("src/skills/tdd", "tdd", "Test first")
    write_skill("home/.claude/skills/tdd", "tdd", "My own", "Precious.\n")
    before = read_tree(Path("home"))
    cli("adopt", "src", "agent")
    if removed:
        cli("-C", "agent", "skill", "delete", "tdd")
    told = cli("-C", "agent", "publish", "--to", "claude", "home/.claude")
    assert told.status == (0 if removed else 12)
    after = read_tree(Path("home"))
    assert {path: after[path] for path in before} == before


def test_links_of_other_programs_stay_where_skills_are_published(folder, cli):
    """Orchestra-Research/AI-Research-SKILLs 77, huggingface/trl 6657."""
    write_skill("shared/other", "other", "Of another program")
    write_skill("src/skills/mine", "mine", "Mine")
    home = Path("home/.claude/skills")
    home.mkdir(parents=True)
    (home / "other").symlink_to("../../../shared/other")
    (home / "dead").symlink_to("/nowhere/at/all")
    cli("adopt", "src", "agent")
    assert cli("-C", "agent", "publish", "--to", "claude", "home/.claude").status == 0
    cli("-C", "agent", "skill", "delete", "mine")
    assert cli("-C", "agent", "publish", "--to", "claude", "home/.claude").status == 0
    assert sorted(os.listdir(home)) == ["dead", "other"]
    assert Path("shared/other/SKILL.md").exists()


def test_a_skill_in_a_file_called_skill_md_is_found_and_published_where_clients_find_it(
    folder, cli
):
    """laurigates/claude-plugins 1606."""
    write_skill("src/skills/low", "low", "Written on a Mac").rename("src/skills/low/skill.md")
    cli("adopt", "src", "agent")
    assert "▸ low: Written on a Mac" in cli("-C", "agent", "index").out
    cli("-C", "agent", "publish", "--to", "claude", "home/.claude")
    assert os.listdir("home/.claude/skills/low") == ["SKILL.md"]


def pack(place: str, files: dict[str, str], flags: int, system: int) -> None:
    """Write an archive whose names are bytes of UTF-8, with these bits, from that system."""
    with zipfile.ZipFile(place, "w") as packed:
        for name, text in files.items():
            entry = zipfile.ZipInfo("x" * len(name.encode()))
            entry.create_system = system
            packed.writestr(entry, text)
    content = Path(place).read_bytes()
    for name in files:
        old = b"x" * len(name.encode())
        for mark, flag, long in ((b"PK\3\4", 6, 30), (b"PK\1\2", 8, 46)):
            at = content.index(mark)
            while content[at + long : at + long + len(old)] != old:
                at = content.index(mark, at + 1)
            bits = (int.from_bytes(content[at + flag : at + flag + 2], "little") | flags) & 0xFFFF
            content = content[: at + flag] + bits.to_bytes(2, "little") + content[at + flag + 2 :]
            content = content[: at + long] + name.encode() + content[at + long + len(old) :]
    Path(place).write_bytes(content)


def test_names_in_utf8_are_read_from_archives_that_do_not_say_so(folder, cli):
    """langgenius/mosoo 260."""
    files = {"写作/SKILL.md": skill_text("write", "Write"), "写作/références/é.md": "x"}
    pack("write.zip", files, flags=0, system=3)
    assert cli("adopt", "write.zip", "agent").status == 0
    assert set(read_tree(Path("agent/skills"))) == set(files)


def test_an_archive_of_powershell_has_folders(folder, cli):
    """multica-ai/multica 8297."""
    files = {
        "tool\\SKILL.md": skill_text("tool", "Use it"),
        "tool\\templates\\": "",
        "tool\\templates\\page.html": "<p>",
    }
    pack("tool.zip", files, flags=UTF8_NAME, system=0)
    assert cli("adopt", "tool.zip", "agent").status == 0
    assert set(read_tree(Path("agent/skills"))) == {"tool/SKILL.md", "tool/templates/page.html"}


def test_backslashes_lead_out_of_no_folder(folder, cli):
    """multica-ai/multica 6899."""
    pack("bad.zip", {"..\\..\\bad\\SKILL.md": skill_text("bad", "Bad")}, UTF8_NAME, system=0)
    told = cli("adopt", "bad.zip", "agent")
    assert told.status == 1 and "bad/SKILL.md" in told.err and not Path("agent").exists()


def test_an_encrypted_archive_is_refused_in_a_sentence(folder, cli):
    """xorbitsai/xagent 1648."""
    pack("locked.zip", {"a/SKILL.md": skill_text("a", "A")}, UTF8_NAME | 1, system=3)
    told = cli("adopt", "locked.zip", "agent")
    assert told.status == 1 and "encrypted" in told.err and not Path("agent").exists()


def test_a_name_with_accents_is_one_skill_however_its_folder_is_spelled(folder, cli):
    """charmbracelet/crush 3625."""
    name = unicodedata.normalize("NFC", "rédacteur-français")
    write_skill(f"src/skills/{unicodedata.normalize('NFD', name)}", name, "Écrit")
    cli("adopt", "src", "agent")
    assert cli("-C", "agent", "skill", "view", name).status == 0
    assert cli("-C", "agent", "skill", "check").status == 0
    cli("-C", "agent", "publish", "--to", "claude", "home/.claude")
    (published,) = os.listdir("home/.claude/skills")
    assert unicodedata.normalize("NFC", published) == name


def test_two_sources_with_a_skill_of_one_name_are_asked_about(folder, cli):
    """conn-castle/agent-layer 169."""
    write_skill("one/skills/fmt", "fmt", "Of one", "One.\n")
    write_skill("two/skills/fmt", "fmt", "Of two", "Two.\n")
    cli("adopt", "one", "agent")
    told = cli("adopt", "two", "agent")
    assert told.status == 12 and "skills/fmt/SKILL.md" in told.out
    assert "One." in Path("agent/skills/fmt/SKILL.md").read_text()
    assert cli("-C", "agent", "merge", "--abort").status == 0
    assert "One." in Path("agent/skills/fmt/SKILL.md").read_text()


def test_an_executable_stays_one_on_the_whole_way(folder, cli):
    """cli/cli 14086 reported it of one way; this goes all of them."""
    write_skill("src/skills/run", "run", "Run")
    write_files(Path("src/skills/run"), {"scripts/go.sh": "#!/bin/sh\n"})
    Path("src/skills/run/scripts/go.sh").chmod(0o755)
    cli("adopt", "src", "agent")
    with Brain.open("agent") as brain:
        brain.skills.upsert("run", "Run it.\n")
    cli("-C", "agent", "publish", "--to", "codex", "home")
    (found,) = Path("home").rglob("go.sh")
    assert found.stat().st_mode & stat.S_IXUSR


def test_a_project_of_several_programs_is_published_back_without_naming_one(folder, cli):
    """getsentry/skills, a project for Claude Code and Codex, in which one skill is edited."""
    write_skill("src/skills/one", "one", "One")
    write_skill("src/skills/two", "two", "Two")
    instructions = {"AGENTS.md": "Be brief.", "CLAUDE.md": "@AGENTS.md", "GEMINI.md": "Be kind."}
    write_files(Path("src"), {**instructions, ".claude/settings.json": "{}", ".codex/x": ""})
    before = read_tree(Path("src"))
    assert " from project at " in cli("adopt", "src", "agent").out
    edited = Path("agent/skills/one/SKILL.md")
    edited.write_text(edited.read_text() + "More.\n")
    assert cli("-C", "agent", "publish", "src").status == 0
    after = read_tree(Path("src"))
    assert {path for path in before if after[path] != before[path]} == {"skills/one/SKILL.md"}
    assert after.keys() - before.keys() == {".brain-published.json"}


def test_where_nothing_was_adopted_from_the_program_must_be_named(folder, cli):
    cli("init", "agent")
    told = cli("-C", "agent", "publish", "elsewhere")
    assert told.status == 1 and "nothing was adopted from" in told.err
    assert "--to claude" in told.err and not Path("elsewhere").exists()
