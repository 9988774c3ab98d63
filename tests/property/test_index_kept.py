"""The index from the lines that are kept is, byte for byte, the one made from all cards."""

import random
from collections import Counter
from pathlib import Path

import pytest

from brain import Brain, BrainError
from brain.objects.tree_node import LINK
from brain.repo import derive, head_index
from brain.skills import index_lines, skill_layout
from brain.skills.skill_layout import address_group
from tests.support.derived_data import cache_folder
from tests.support.index_text import parse_index

FOLDERS = ["a", "a-b", "ab", "big", "x.y", "_no", ".no", "Cat", "page-03", "A b", "a: b"]
SECTIONS = ["skills", "skills", "skills", "memory", "plugins/p/skills", ".agents/skills", "s000"]
FILES = ["SKILL.md", "README.md", "ref.md", "n.MD", "data.txt"]
NAMES = ["same", "same", "a", "a-b", "a: b", "Ünïcode", "▸ x", "zz", "", "0"]


def from_the_definition(brain: Brain, revision: str) -> str:
    """Return the index as it follows from the cards of all skills, by address."""
    session = brain._session
    bundle = session.at(revision)
    entries = {e.path: e for e in bundle.walk()}
    named = skill_layout.find_skill_paths(entries)
    files = {path: entries[path].blob for path in named if entries[path].kind != LINK}
    cards = derive.read_cards(session, list(files.values()))
    slugs = {path: skill_layout.slug_from_path(path) for path in files}
    shared = Counter(slugs.values())
    made = []
    for path, blob in files.items():
        if b"disable-model-invocation: true" in session.reader.read_blob(blob):
            continue
        slug, name = slugs[path], cards[blob].name
        group = [other for other in files if slugs[other] == slug]
        address = slug if shared[slug] == 1 else address_group(slug, group)[path]
        shown = "" if name == slug else name
        made.append(index_lines.format_line(address, shown, cards[blob].description))
    made.sort(key=lambda line: line.partition(": ")[::2])
    return "\n".join(made) or "(no skills yet)"


def check(brain: Brain, revision: str) -> None:
    """See that a revision has its index."""
    expected = from_the_definition(brain, revision)
    assert brain.prompt.build_index(revision).index == expected
    lines = parse_index(expected)
    for line in random.Random(len(lines)).sample(lines, min(len(lines), 12)):
        opened = brain.skills.view(line.address, revision)
        assert line.name == ("" if opened.name == opened.slug else shown_name(opened.name))
        assert line.description == (opened.description or "(no description)")
    assert len({line.address for line in lines}) == len(lines)


def shown_name(name: str) -> str:
    return parse_index(index_lines.format_line("x", name, ""))[0].name


def text(rng: random.Random) -> str:
    if rng.random() < 0.1:
        return "no front matter\n"
    description = "d " * rng.randrange(9)
    hidden = "disable-model-invocation: true\n" if rng.random() < 0.1 else ""
    name = rng.choice(NAMES)
    return f"---\nname: {name!r}\ndescription: {description}\n{hidden}---\n{rng.random()}\n"


def path(rng: random.Random) -> str:
    if rng.random() < 0.1:
        return f"{rng.randrange(40)}.md"
    folder = rng.choice([*FOLDERS, *(f"s{n:03d}" for n in range(60))])
    if rng.random() < 0.5:
        file = rng.choice(FILES)
        return f"{folder}/{'skill.md' if file == 'SKILL.md' and folder > 's03' else file}"
    if rng.random() < 0.3:
        return f"{folder}/deep{rng.randrange(5)}/SKILL.md"
    return f"{folder}/page-{rng.randrange(80):02d}.md"


def edit(rng: random.Random, root: Path, count: int) -> None:
    """Write and remove some files of skills, and others; now and then one is a link."""
    for _ in range(count):
        file = root / rng.choice(SECTIONS) / path(rng)
        if file.exists() and rng.random() < 0.4:
            file.unlink()
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        if rng.random() < 0.03:
            file.symlink_to("elsewhere")
        else:
            file.write_text(text(rng))


@pytest.mark.parametrize("seed", range(4))
def test_after_any_changes_the_index_is_the_one_from_the_cards(tmp_path, seed, monkeypatch):
    rng = random.Random(seed)
    monkeypatch.setattr(head_index, "MAX_CHANGED_PATHS", rng.choice((3, 40, 256)))
    monkeypatch.setattr(derive, "_BATCH_SIZE", rng.choice((1, 100, 4096)))
    with Brain.init(tmp_path / "b", author="tester") as brain:
        seen = [brain.head]
        for step in range(10):
            edit(rng, brain.root, rng.choice((1, 3, 30, 250)))
            brain.snapshot()
            if step % 4 == 1:
                brain.skills.upsert(f"up-{rng.randrange(3)}", f"{step}\n", description="d")
            if step % 5 == 4:
                brain.undo()
            if step == 6:
                brain.branches.create("other", seen[-1])
                brain.branches.switch("other")
            seen.append(brain.head)
            check(brain, "@")
            check(brain, rng.choice(seen))
            bundle = brain._session.at()
            assert brain._session.cache.read_index_state() == bundle.id
            assert head_index.is_index_valid(brain._session)


def test_a_fork_an_undo_and_a_redaction_have_their_index_kept(tmp_path):
    with Brain.init(tmp_path / "b", author="tester") as brain:
        for number in range(5):
            brain.skills.upsert(f"s{number}", "Text.\n", description=f"About {number}")
        brain.undo()
        brain.files.redact("skills/s1/SKILL.md", reason="it was a secret")
        brain.fork(tmp_path / "f")
        with Brain.open(tmp_path / "f", author="tester") as fork:
            for one in (brain, fork):
                lines_of = one.prompt.build_index().index.split("\n")
                assert [line.partition(":")[0] for line in lines_of] == ["▸ s0", "▸ s2", "▸ s3"]
                assert one._session.cache.read_index_state()
                assert head_index.is_index_valid(one._session)
                check(one, "@")


def cache_checks(brain: Brain) -> list[bool]:
    """Return what the doctor says of the cache."""
    return [one.ok for one in brain.doctor() if one.check == "cache"]


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE lines SET line = replace(line, 'A', 'B')",
        "DELETE FROM lines WHERE path LIKE '%s2%'",
    ],
)
def test_damage_of_what_is_kept_is_found_and_changes_no_answer(tmp_path, sql):
    with Brain.init(tmp_path / "b", author="tester") as brain:
        for number in range(5):
            brain.skills.upsert(f"s{number}", "Text.\n", description=f"About {number}")
        check(brain, "@")
        brain.skills.upsert("s8", "Text.\n", description="About 8")
        for again in range(2):
            brain._session.cache.db.execute(sql)
            brain._session.cache.db.execute("DELETE FROM states WHERE name = 'text'")
            assert not head_index.is_index_valid(brain._session)
            assert cache_checks(brain) == [False]
            if again:
                brain.skills.upsert("s9", "Text.\n", description="About 9")
            brain._session.rendered_indexes.clear()
            check(brain, "@")
            assert head_index.is_index_valid(brain._session)
            assert cache_checks(brain) == [True]
            brain.skills.upsert(f"t{again}", "Text.\n", description="About")
            check(brain, "@")


@pytest.mark.parametrize(
    "damage", ["state = CAST(replace(state, 'A', 'B') AS BLOB)", "state = x''"]
)
def test_a_damaged_text_is_made_anew_of_the_lines(tmp_path, damage):
    with Brain.init(tmp_path / "b", author="tester") as brain:
        brain.skills.upsert("s", "Text.\n", description="About")
        check(brain, "@")
        check(brain, "@")
        brain._session.cache.db.execute(f"UPDATE states SET {damage} WHERE name = 'text'")
        check(brain, "@")


def test_a_line_that_was_redacted_is_nowhere_in_the_store_or_the_cache(tmp_path):
    secret = "the-word-that-nobody-may-read"
    with Brain.init(tmp_path / "b", author="tester") as brain:
        brain.skills.upsert("s", "Text.\n", description=f"Says {secret}")
        for number in range(3):
            brain.skills.upsert(f"s{number}", "Text.\n", description="About")
        brain.prompt.build_index()
        brain.skills.upsert("s", "Text.\n", description="Says nothing")
        places = brain.root / ".brain", cache_folder(brain).parent
        brain.files.redact("skills/s/SKILL.md", reason="it was a secret", history=True)
        check(brain, "@")
    for file in (file for folder in places for file in folder.rglob("*")):
        assert not file.is_file() or secret.encode() not in file.read_bytes(), file


def test_an_index_of_a_revision_of_before_is_refused_nowhere(tmp_path):
    with Brain.init(tmp_path / "b", author="tester") as brain:
        first = brain.head
        brain.skills.upsert("s", "Text.\n", description="About")
        check(brain, first)
        with pytest.raises(BrainError):
            brain.prompt.build_index("no-such-revision")
