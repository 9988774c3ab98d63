"""Adopting and publishing anything."""

import json
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from brain import Brain
from brain.adopting import publish
from brain.adopting.publish_manifest import RECORD_NAME
from tests.campaigns.publish_back import FileState, read_home

FOLDERS = ("1", "2024", "true", "My_Skill", "my-skill", "outer", "outer/inner", "group/deep")
NAMES = st.sampled_from(["second-brain", "2024", "outer", "My Skill", "null", '"1e5"', ""])
HEADS = st.sampled_from(
    ["", "version: 3\n", "model: opus\n", "metadata:\n  version: '2.1'\n", "tags: [a, b]\n"]
)
BODIES = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=20)


@st.composite
def skill_texts(draw: st.DrawFn) -> bytes:
    """Draw the text of a skill: with any name, line ends and mark, or without front matter."""
    name, newline = draw(NAMES), draw(st.sampled_from(["\n", "\r\n"]))
    head = f"---\nname: {name}\ndescription: Some.\n{draw(HEADS)}---\n"
    text = draw(st.sampled_from(["", head, head, "\ufeff" + head])) + f"\n{draw(BODIES)}\n"
    return text.replace("\n", newline).encode()


FILE_NAMES = st.sampled_from(["SKILL.md", "SKILL.md", "a.md", "scripts/run.sh", "data.bin"])
PATHS = st.builds("skills/{}/{}".format, st.sampled_from(FOLDERS), FILE_NAMES)
HOMES = st.dictionaries(PATHS, st.tuples(skill_texts(), st.booleans()), min_size=1, max_size=8)
EDITS = st.dictionaries(PATHS, st.none() | skill_texts(), max_size=4)
LAYOUTS = st.sampled_from([("claude", ".claude"), ("codex", ".codex"), ("hermes", ".hermes")])


def edit(folder: Path, edits: dict[str, bytes | None]) -> set[str]:
    """Write or remove files; return the paths of those that are other ones now."""
    changed: set[str] = set()
    for name, content in edits.items():
        path = folder / name
        before = path.read_bytes() if path.is_file() else None
        if content is None:
            path.unlink(missing_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        if content != before:
            changed.add(name)
    return changed


def expected_home(
    before: dict[str, FileState], brain: Brain, changed: set[str]
) -> dict[str, bytes]:
    """Return the files that the home must have, by what the brain has of those adopted."""
    expected = {name: content for name, (_, content) in before.items()}
    for name in changed & before.keys():
        path = brain.root / name
        if path.is_file():
            expected[name] = path.read_bytes()
        else:
            del expected[name]
    return expected


@settings(max_examples=15, deadline=None)
@given(files=HOMES, layout=LAYOUTS, here=EDITS, there=EDITS)
def test_a_home_gets_the_changes_of_the_brain_and_nothing_else(
    tmp_path_factory, files, layout, here, there
):
    client, name = layout
    root = tmp_path_factory.mktemp("home")
    home = root / name
    edit(home, {path: content for path, (content, _) in files.items()})
    for path, (_, executable) in files.items():
        (home / path).chmod(0o755 if executable else 0o644)
    before = read_home(home)
    Brain.adopt(home, root / "brain", f"{client}-home" if client != "hermes" else client)
    with Brain.open(root / "brain") as brain:
        changed = edit(brain.root, here)
        brain.snapshot()
        done = publish(brain, client, home)
        assert not done.conflicts and not done.held_back
        after = read_home(home)
        expected = expected_home(before, brain, changed)
        assert {path: after[path][1] for path in expected} == expected
        assert not before.keys() - expected.keys() & after.keys()
        kept = [path for path in before if path not in changed]
        assert {path: before[path] for path in kept} == {path: after[path] for path in kept}

        head = brain.head
        Brain.adopt(home, brain.root)
        assert not brain.history.diff(head, "@").changes
        again = publish(brain, client, home)
        assert not again.written and not again.removed and read_home(home) == after

        theirs = {path: text and text + b"Theirs.\n" for path, text in there.items()}
        edited = edit(home, theirs)
        meanwhile = read_home(home)
        edit(brain.root, {**here, **dict.fromkeys(list(there)[:1], b"Ours.\n")})
        brain.snapshot()
        done = publish(brain, client, home)
        after = read_home(home)
        assert all(after.get(path) == meanwhile.get(path) for path in edited)
        if done.conflicts:
            assert after == meanwhile and not done.written


def test_the_record_is_no_part_of_a_home(tmp_path):
    (tmp_path / RECORD_NAME).write_text("{}")
    assert read_home(tmp_path) == {}


SLUGS = st.from_regex(r"[a-z][a-z0-9]{0,5}(-[a-z0-9]{1,4}){0,2}", fullmatch=True)
WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"], max_codepoint=0x2FFF),
    min_size=1,
    max_size=60,
).filter(str.strip)
VERSIONS = st.sampled_from(
    ["", "version: 3\n", "version: 1.4.0\n", "metadata:\n  version: '2.1'\n"]
)
FIELDS = st.sampled_from(
    ["", "license: MIT\n", "model: opus\n", "tags: [a, b]\n", "platforms: [linux]\n"]
)
FILES = st.dictionaries(
    st.sampled_from(["scripts/run.sh", "references/a.md", "data.json", "sub/deep/er.txt"]),
    st.binary(max_size=40),
    max_size=3,
)
SKILLS = st.dictionaries(
    SLUGS, st.tuples(WORDS, VERSIONS, FIELDS, WORDS, FILES), min_size=1, max_size=4
)
CLIENTS = st.sampled_from(["claude", "codex", "hermes", "openclaw", "agentskills"])


@settings(max_examples=10, deadline=None)
@given(skills=SKILLS, client=CLIENTS)
def test_adopted_published_and_adopted_again_skills_are_the_same(tmp_path_factory, skills, client):
    root = tmp_path_factory.mktemp("skills")
    for slug, (about, version, field, body, files) in skills.items():
        folder = root / "home/skills" / slug
        folder.mkdir(parents=True)
        head = f"name: {slug}\ndescription: {json.dumps(about, ensure_ascii=False)}\n"
        text = f"---\n{head}{version}{field}---\n\n{body}\n"
        (folder / "SKILL.md").write_text(text, newline="")
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
    Brain.adopt(root / "home", root / "one")
    with Brain.open(root / "one") as one:
        done = publish(one, client, root / "out")
        assert not [row for row in done.left_out if row.path.startswith("skills/")]
        assert publish(one, client, root / "out").unchanged == len(done.written)
        for place in (root / "out").rglob("SKILL.md"):
            assert place.read_bytes() == one.files.read(f"skills/{place.parent.name}/SKILL.md")
        assert not Brain.adopt(root / "out", root / "one", kind=client).changed
        (root / "out" / RECORD_NAME).unlink()
        Brain.adopt(root / "out", root / "two", kind=client)
        with Brain.open(root / "two") as two:
            assert [row[:4] for row in one.skills.list()] == [row[:4] for row in two.skills.list()]
            for row in one.skills.list():
                assert one.skills.view(row.slug).body == two.skills.view(row.slug).body
            now = {info.path: info.blob for info in two.files.list()}
            for info in one.files.list():
                if info.path.startswith("skills/") and not info.path.endswith("SKILL.md"):
                    assert now[info.path] == info.blob
