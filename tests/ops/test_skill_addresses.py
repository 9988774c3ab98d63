"""Skills that share a name or look alike."""

import random
from pathlib import Path

import pytest

from brain import Brain
from brain.errors import BrainError, Conflict, InvalidInput, NotFound
from brain.repo import lookalikes
from brain.serve.tools import Toolbox
from brain.skills.skill_layout import digest_address
from tests.support.brains import skill_text, write_file
from tests.support.index_text import parse_index
from tests.support.refusals import raises_code

FOLDERS = ["a", "b", "skills", "x: y", "p (q)", "@s", "v.md", "é", "b~12345678", "a--b", "-o"]
NAMES = ["a", "b", "a-b", "Oracle: x", "b (c)", "skills/a", "é", "A B", "x, y", ""]


@pytest.fixture
def shared(brain):
    """A brain with two skills of the slug `search`, and two with names of other skills."""
    write_file(brain, "skills/one/search/SKILL.md", skill_text("search", body="One.\n"))
    write_file(brain, "skills/two/search.md", skill_text("search", body="Two.\n"))
    write_file(brain, "skills/finder/SKILL.md", skill_text("lookup", body="Three.\n"))
    write_file(brain, "skills/lookup/SKILL.md", skill_text("search", body="Four.\n"))
    brain.snapshot()
    return brain


def test_a_slug_comes_before_a_name_and_a_name_of_several_is_refused(shared):
    assert shared.skills.view("lookup").path == "skills/lookup/SKILL.md"
    assert shared.skills.view("finder").path == "skills/finder/SKILL.md"
    for act in (shared.skills.view, shared.skills.delete, shared.skills.history):
        with raises_code("ambiguous_skill", InvalidInput) as refused:
            act("search")
        assert refused.value.message == "search may be any of: one/search, two/search.md"


@pytest.mark.parametrize(
    "text", ["one/search", "skills/one/search", "skills/one/search/SKILL.md", "./one/search/"]
)
def test_every_form_of_a_path_names_the_skill_in_every_call(shared, text):
    path = "skills/one/search/SKILL.md"
    assert shared.skills.view(text).path == path
    assert shared.skills.upsert(text, "Once more.\n").path == path
    assert shared.skills.view(f"{text}@1").body.strip() == "One."
    assert [one.version for one in shared.skills.history(text)] == [2, 1]
    assert shared.skills.revert(text, "1").version == 3
    assert shared.history.why(text).versions[0].version == 3
    assert shared.history.blame(text)
    assert shared.skills.delete(text).path == path
    assert {skill.address for skill in shared.skills.list()} == {"search", "finder", "lookup"}


def test_a_path_of_no_skill_makes_none(shared):
    with raises_code("no_skill", NotFound) as missing:
        shared.skills.upsert("three/search", "New.\n")
    assert "/search" in missing.value.hint
    assert len(shared.skills.list()) == 4


def test_the_line_of_the_first_changes_as_a_second_comes_and_goes(brain):
    write_file(brain, "skills/x/a/SKILL.md", skill_text("a"))
    brain.snapshot()
    assert brain.prompt.build_index().index == "▸ a: About a"
    write_file(brain, "skills/y/a/SKILL.md", skill_text("b"))
    brain.snapshot()
    assert brain.prompt.build_index().index.split("\n") == ["▸ x/a: About a", "▸ y/a (b): About b"]
    brain.skills.delete("x/a")
    assert brain.prompt.build_index().index == "▸ a (b): About b"


def test_a_skill_that_holds_others_is_not_removed_with_them(brain):
    write_file(brain, "skills/outer/SKILL.md", skill_text("outer"))
    write_file(brain, "skills/outer/skills/inner/SKILL.md", skill_text("inner"))
    write_file(brain, "skills/outer/notes.txt", "x\n")
    brain.snapshot()
    with raises_code("holds_skills", Conflict) as refused:
        brain.skills.delete("outer")
    assert "inner" in refused.value.message
    brain.skills.delete("inner")
    brain.skills.delete("outer")
    assert brain.skills.list() == [] and brain.verify().ok


@pytest.mark.parametrize("seed", range(3))
def test_each_line_opens_the_skill_that_it_describes(tmp_path, seed):
    rng = random.Random(seed)
    with Brain.init(tmp_path / "b", author="tester") as brain:
        for number in range(90):
            parts = [rng.choice(FOLDERS) for _ in range(rng.randrange(1, 4))]
            file = brain.root / "skills" / f"{'/'.join(parts)}{rng.choice(ENDINGS)}"
            if has_room(file):
                file.parent.mkdir(parents=True, exist_ok=True)
                name = rng.choice(NAMES)
                file.write_text(f"---\nname: {name!r}\ndescription: d{number}\n---\nB{number}\n")
        brain.snapshot()
        lines = parse_index(brain.prompt.build_index().index)
        listed = brain.skills.list()
        assert len(lines) == len(listed) > 20
        assert {one.address for one in lines} == {one.address for one in listed}
        for line in lines:
            assert brain.skills.view(line.address).description == line.description
        for skill in rng.sample(listed, 5):
            assert brain.skills.view(digest_address(skill.slug, skill.path)).path == skill.path
            assert brain.skills.view(skill.path).path == skill.path
            assert brain.skills.view(skill.address).path == skill.path
        for skill in brain.skills.list()[:5]:
            present = {one.path: one.address for one in brain.skills.list()}
            folder = skill.path.rpartition("/")[0] + "/"
            if any(path != skill.path and path.startswith(folder) for path in present):
                continue
            assert brain.skills.delete(present[skill.path]).path == skill.path
            left = {one.path for one in brain.skills.list()}
            assert left == present.keys() - {skill.path}


ENDINGS = ["/SKILL.md", "/SKILL.md", ".md", "/skill.md"]


def has_room(file: Path) -> bool:
    """Tell whether a file can be there, and has no twin in another case."""
    if file.exists() or any(parent.is_file() for parent in file.parents):
        return False
    beside = file.parent.iterdir() if file.parent.is_dir() else ()
    return all(one.name.lower() != file.name.lower() for one in beside)


def test_a_link_is_no_skill_that_a_slug_could_mean(brain):
    write_file(brain, "skills/x/a/SKILL.md", skill_text("a"))
    (brain.root / "skills/a").mkdir()
    (brain.root / "skills/a/SKILL.md").symlink_to("../x/a/SKILL.md")
    brain.snapshot()
    assert brain.skills.view("a").path == "skills/x/a/SKILL.md"
    with pytest.raises(BrainError):
        brain.skills.view("skills/a")


def skill(name: str) -> bytes:
    return f"---\nname: {name}\ndescription: Does it.\n---\nText.\n".encode()


def write(root: Path, folder: str, name: str) -> None:
    (root / folder).mkdir(parents=True)
    (root / folder / "SKILL.md").write_bytes(skill(name))


def codes(brain: Brain) -> list[tuple[str, str]]:
    """Return what a snapshot says of names."""
    notices = brain.snapshot().notices
    return [(one.code, one.path) for one in notices if one.code != "version_not_raised"]


def test_a_second_skill_of_one_name_is_told_with_the_first(brain):
    brain.skills.upsert("deploy", b"Ship it.\n")
    write(brain.root, "skills/tools/other", "Deploy")
    (notice,) = brain.snapshot().notices
    assert (notice.code, notice.path) == ("same_name", "skills/tools/other/SKILL.md")
    assert notice.message == "is called Deploy, as is skills/deploy/SKILL.md"


def test_two_new_skills_of_one_name_are_told_both(brain):
    write(brain.root, "skills/one", "deploy")
    write(brain.root, "skills/two", "deploy")
    assert codes(brain) == [
        ("same_name", "skills/one/SKILL.md"),
        ("same_name", "skills/two/SKILL.md"),
    ]


def test_one_that_looks_like_another_in_other_letters_is_told_with_it(brain):
    brain.skills.upsert("paypal", b"Pay.\n")
    write(brain.root, "skills/x", "раураl")
    assert codes(brain) == [
        ("mixed_scripts", "skills/x/SKILL.md"),
        ("same_name", "skills/x/SKILL.md"),
    ]


def test_it_is_told_once_and_again_only_when_the_name_changes(brain):
    write(brain.root, "skills/x", "раypal")
    assert codes(brain) == [("mixed_scripts", "skills/x/SKILL.md")]
    path = brain.root / "skills/x/SKILL.md"
    path.write_bytes(path.read_bytes() + b"More.\n")
    assert codes(brain) == []
    path.write_bytes(skill("gооgle"))
    assert codes(brain) == [("mixed_scripts", "skills/x/SKILL.md")]


@pytest.mark.parametrize("name", ['"pay\\u202Epal"', '"pay\\u200bpal"', '"pay\\U000E0041"'])
def test_hidden_characters_that_the_front_matter_escapes_are_told(brain, name):
    write(brain.root, "skills/x", name)
    assert codes(brain) == [("hidden_name", "skills/x/SKILL.md")]
    assert "hidden_name" in [problem.code for problem in brain.skills.check()]


def test_ordinary_skills_are_told_nothing_of(brain):
    for number, name in enumerate(("Проверка API", "技能调试", "🔥 deploy", "deploy", "C++", "C#")):
        write(brain.root, f"skills/s{number}", name)
    assert brain.snapshot().notices == []
    codes = {one.code for one in brain.skills.check()}
    assert codes == {"bad_name", "name_mismatch"}


def test_an_upsert_tells_of_the_name_it_was_given_and_of_that_in_the_text(brain):
    made = brain.skills.upsert("раypal", b"Pay.\n")
    assert [one.code for one in made.notices] == ["mixed_scripts"]
    assert brain.skills.upsert("раypal", b"Pay more.\n").notices == []
    brain.skills.upsert("deploy", b"Ship it.\n")
    twin = brain.skills.upsert("shipping", skill("deploy"))
    assert [(one.code, one.path) for one in twin.notices] == [("same_name", twin.path)]
    assert "skills/deploy/SKILL.md" in twin.notices[0].message


def test_skill_manage_tells_the_model(brain):
    tools = Toolbox(brain)
    made = tools.call("skill_manage", {"action": "create", "name": "раypal", "content": "Pay."})
    said = "the name раypal mixes scripts: it has Cyrillic р (U+0440), а (U+0430)"
    assert made.text.splitlines()[1:] == [f"Note: skills/raypal/SKILL.md: {said}"]


def test_skill_check_names_the_others(brain):
    write(brain.root, "skills/one", "deploy")
    write(brain.root, "skills/two", "Deploy")
    brain.snapshot()
    found = {one.path: one.message for one in brain.skills.check() if one.code == "same_name"}
    assert found == {
        "skills/one/SKILL.md": "is called deploy, as is skills/two/SKILL.md",
        "skills/two/SKILL.md": "is called Deploy, as is skills/one/SKILL.md",
    }


def test_an_adoption_tells_of_what_it_took(brain, tmp_path):
    brain.skills.upsert("deploy", b"Ship it.\n")
    write(tmp_path / "source", "skills/mine", "deploy")
    write(tmp_path / "source", "skills/pay", "раypal")
    done = Brain.adopt(tmp_path / "source", brain.root)
    assert [one.code for one in done.notices] == ["same_name", "mixed_scripts"]


def test_of_very_many_it_is_said_that_they_were_not_compared(brain, monkeypatch):
    monkeypatch.setattr(lookalikes, "MAX_COMPARED_NAMES", 1)
    write(brain.root, "skills/one", "deploy")
    write(brain.root, "skills/two", "deploy")
    (notice,) = brain.snapshot().notices
    assert notice.code == "names_not_compared" and "brain skill check" in notice.message
