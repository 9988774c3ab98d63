import random
import subprocess
from pathlib import Path

import pytest

from brain import Brain, NotFound
from tests.support.refusals import raises_code


def blamed(brain: Brain, slug: str = "oracle", rev: str = "@") -> dict[str, str]:
    """Each line of the body with the snapshot that wrote it."""
    rows = brain.history.blame(slug, rev)
    closing = [row.line for row in rows if row.text == "---"][1]
    return {row.text: row.snapshot for row in rows if row.line > closing and row.text}


def test_each_line_names_the_snapshot_that_wrote_it(brain):
    first = brain.skills.upsert("Oracle", "a\nb\nc\n").snapshot
    second = brain.skills.upsert("Oracle", "a\nB\nc\n").snapshot
    brain.skills.upsert("Other", "x\n")
    third = brain.skills.upsert("Oracle", "a\nB\nc\nd\n", receipt=b"why").snapshot
    assert blamed(brain) == {"a": first, "B": second, "c": first, "d": third}
    assert blamed(brain, rev="@~1") == {"a": first, "B": second, "c": first}
    (last,) = [row for row in brain.history.blame("oracle") if row.text == "d"]
    assert last.receipt is not None and last.author == "tester"


def git_blame(folder: Path, texts: list[str]) -> dict[str, int]:
    """Each line that occurs once with the number of the text that git blames for it."""

    def git(*command: str) -> str:
        who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
        done = subprocess.run(
            ["git", *who, *command], cwd=folder, capture_output=True, text=True, check=True
        )
        return done.stdout

    folder.mkdir()
    git("init", "--quiet")
    for number, text in enumerate(texts):
        (folder / "text").write_text(text)
        git("add", "text")
        git("commit", "--quiet", "--allow-empty", "--message", str(number))
    told: dict[str, int] = {}
    number = 0
    for row in git("blame", "--line-porcelain", "text").splitlines():
        if row.startswith("summary "):
            number = int(row.removeprefix("summary "))
        elif row.startswith("\t") and texts[-1].splitlines().count(row[1:]) == 1:
            told[row[1:]] = number
    return told


@pytest.mark.parametrize("seed", range(4))
def test_git_blames_the_same_versions(brain, tmp_path, seed):
    rng = random.Random(seed)
    fresh = iter(f"line {n}" for n in range(10_000))
    text = [line for _ in range(20) for line in (next(fresh), "")]
    texts, snapshots = [], []
    for _ in range(15):
        for _ in range(rng.randint(1, 4)):
            place = rng.randrange(0, len(text), 2)
            new = [line for _ in range(rng.randint(0, 3)) for line in (next(fresh), "")]
            text[place : place + 2 * rng.randint(0, 2)] = new
        texts.append("\n".join(text))
        snapshots.append(brain.skills.upsert("Oracle", texts[-1]).snapshot)
    by_git = git_blame(tmp_path / "git", texts)
    assert len(by_git) > 10
    ours = blamed(brain)
    assert {line: ours[line] for line in by_git} == {
        line: snapshots[number] for line, number in by_git.items()
    }


def test_lines_of_a_merge_belong_to_the_side_that_wrote_them(brain):
    base = brain.skills.upsert("Oracle", "a\n\nb\n\nc\n").snapshot
    brain.branches.create("idea")
    ours = brain.skills.upsert("Oracle", "A\n\nb\n\nc\n").snapshot
    brain.branches.switch("idea")
    theirs = brain.skills.upsert("Oracle", "a\n\nb\n\nC\n").snapshot
    brain.branches.switch("main")
    merged = brain.merge.start("idea").snapshot
    assert blamed(brain) == {"A": ours, "b": base, "C": theirs}
    assert [
        row.snapshot for row in brain.history.blame("oracle") if row.text.startswith("  version")
    ] == [merged]


def test_lines_are_followed_through_a_rename(brain):
    first = brain.skills.upsert("Oracle", "a\nb\nc\nd\n").snapshot
    old, new = brain.root / "skills/oracle", brain.root / "skills/prophet"
    old.rename(new)
    moved = brain.snapshot().snapshot
    text = (new / "SKILL.md").read_text().replace("name: oracle", "name: prophet")
    (new / "SKILL.md").write_text(text)
    renamed = brain.snapshot().snapshot
    assert blamed(brain, "prophet") == dict.fromkeys("abcd", first)
    assert moved not in {row.snapshot for row in brain.history.blame("prophet")}
    assert [row.snapshot for row in brain.history.blame("prophet") if "prophet" in row.text] == [
        renamed
    ]


@pytest.mark.parametrize(
    ("kept", "is_followed"), [("abcd", True), ("abc", True), ("ab", True), ("a", False)]
)
def test_a_skill_that_moved_is_followed_if_half_of_its_lines_stayed(brain, kept, is_followed):
    first = brain.skills.upsert("Oracle", "a\nb\nc\nd\n").snapshot
    folder = brain.root / "skills/prophet"
    (brain.root / "skills/oracle").rename(folder)
    text = (folder / "SKILL.md").read_text().replace("name: oracle", "name: prophet")
    for line in set("abcd") - set(kept):
        text = text.replace(f"\n{line}\n", f"\n{line.upper()}\n")
    (folder / "SKILL.md").write_text(text)
    both = brain.snapshot().snapshot
    found = blamed(brain, "prophet")
    assert {found[line] for line in kept} == {first if is_followed else both}
    (change,) = [one for one in brain.history.diff("@~1", "@").skills if one.slug == "prophet"]
    assert change.change == ("renamed" if is_followed else "added")


def test_a_skill_that_moved_to_another_folder_is_followed_though_it_changed(brain):
    first = brain.skills.upsert("Oracle", "a\nb\nc\nd\n").snapshot
    folder = brain.root / "skills/tools/oracle"
    folder.parent.mkdir()
    (brain.root / "skills/oracle").rename(folder)
    (folder / "SKILL.md").write_text((folder / "SKILL.md").read_text().replace("d\n", "D\n"))
    both = brain.snapshot().snapshot
    found = blamed(brain)
    assert (found["a"], found["D"]) == (first, both)
    (change,) = brain.history.diff("@~1", "@").changes
    assert (change.change, change.from_path) == ("renamed", "skills/oracle/SKILL.md")


def test_a_first_load_of_many_skills_is_blamed_like_any_other(brain):
    for n in range(600):
        folder = brain.root / "skills" / f"s{n}"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\nname: s{n}\ndescription: d\n---\nline\n")
    loaded = brain.snapshot().snapshot
    changed = brain.skills.upsert("s7", "line\nmore\n").snapshot
    assert blamed(brain, "s7") == {"line": loaded, "more": changed}


def test_an_unknown_skill_has_no_lines_to_blame(brain):
    with raises_code("no_skill", NotFound):
        brain.history.blame("nothing")


def test_the_history_of_a_skill_goes_on_before_its_renames(brain):
    brain.skills.upsert("Oracle", "a\nb\nc\n")
    brain.skills.upsert("Oracle", "a\nb\nc\nd\n")
    (brain.root / "skills/oracle").rename(brain.root / "skills/prophet")
    brain.snapshot()
    brain.skills.upsert("Oracle", "a\nb\nc\nd\ne\n")
    (brain.root / "skills/prophet").rename(brain.root / "skills/seer")
    brain.snapshot()
    rows = brain.skills.history("seer")
    assert [(row.version, row.change, row.path.split("/")[1]) for row in rows] == [
        (3, "renamed", "seer"),
        (3, "upgraded", "prophet"),
        (2, "renamed", "prophet"),
        (2, "upgraded", "oracle"),
        (1, "added", "oracle"),
    ]
    assert brain.skills.view("seer@1").body.strip() == "a\nb\nc"


def test_a_skill_made_anew_is_not_taken_for_one_that_went(brain):
    brain.skills.upsert("Oracle", "one\ntwo\nthree\nfour\nfive\n")
    brain.skills.delete("oracle")
    brain.skills.upsert("Seer", "quite another text\n")
    assert [row.path for row in brain.skills.history("seer")] == ["skills/seer/SKILL.md"]


@pytest.mark.parametrize("path", ["skills/oracle/SKILL.md", "skills/seer/SKILL.md"])
def test_what_was_redacted_came_from_nowhere_and_nothing_came_from_it(brain, path):
    brain.skills.upsert("Oracle", "one\ntwo\nthree\nfour\nfive\n")
    (brain.root / "skills/oracle").rename(brain.root / "skills/seer")
    (brain.root / "skills/seer/SKILL.md").write_text("---\nname: Seer\n---\none\ntwo\nthree\n")
    moved = brain.snapshot().snapshot
    brain.skills.upsert("Seer", "one\ntwo\nthree\nfour\n")
    brain.files.redact(path, rev=moved if "seer" in path else f"{moved}~1", reason="a test")
    rows = brain.skills.history("seer")
    assert [(row.change, row.path.split("/")[1]) for row in rows] == [
        ("upgraded", "seer"),
        ("added", "seer"),
    ]
    assert brain.history.blame("seer")


def test_a_file_that_became_a_skill_since_another_went_has_a_history(brain):
    folder = brain.root / "skills/tools"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("one\ntwo\nthree\nfour\n")
    (folder / "search.md").write_text("---\nname: search\n---\nDo.\n")
    brain.snapshot()
    (folder / "SKILL.md").unlink()
    gone = brain.snapshot().snapshot
    assert {row.snapshot for row in brain.history.blame("search")} == {gone}
    (only,) = brain.skills.history("search")
    assert (only.change, only.snapshot) == ("added", gone)
    (folder / "SKILL.md").write_text("five\nsix\n")
    brain.snapshot()
    assert [row.change for row in brain.skills.history("search")] == ["removed", "added"]
    assert brain.verify(deep=True).ok


def test_a_skill_of_the_lineage_that_a_fork_came_from_is_blamed_on_nobody(brain, tmp_path):
    brain.skills.upsert("Oracle", "Ask.\n")
    origin = brain.head
    brain.fork(tmp_path / "fork")
    with Brain.open(tmp_path / "fork") as fork, raises_code("no_skill", NotFound):
        fork.history.blame("oracle", origin)


# The history of a skill through merges and renames: its own changes, all of them, once.
@pytest.fixture
def two_skills(tmp_path):
    """Skills alpha, at version 1, and beta, at version 5, and a branch idea."""
    with Brain.init(tmp_path / "agent", author="tester") as brain:
        brain.skills.upsert("alpha", "alpha 1\n", description="d")
        for number in range(5):
            brain.skills.upsert("beta", f"beta {number}\n", description="d")
        brain.branches.create("idea")
        yield brain


def versions(brain: Brain, slug: str) -> list[object]:
    """Return the versions in the history of a skill, oldest first."""
    return [row.version for row in reversed(brain.skills.history(slug))]


def test_a_merge_that_brings_one_skill_and_removes_another_renames_nothing(two_skills):
    brain = two_skills
    brain.skills.delete("alpha")
    brain.branches.switch("idea")
    brain.skills.delete("beta")
    brain.skills.upsert("alpha", "alpha 2\n")
    brain.branches.switch("main")
    brain.merge.start("idea", "theirs")
    found = brain.skills.history("alpha")
    assert {row.path for row in found} == {"skills/alpha/SKILL.md"}
    assert "renamed" not in {row.change for row in found}
    assert brain.skills.upsert("alpha", "alpha 3\n").version == 1 + max(
        row.version for row in found if isinstance(row.version, int)
    )


def test_the_front_matter_alone_makes_no_rename(two_skills):
    brain = two_skills
    content = (brain.root / "skills/beta/SKILL.md").read_text()
    (brain.root / "skills/beta/SKILL.md").unlink()
    (brain.root / "skills/gamma.md").write_text(
        content.replace("beta 4", "other text").replace("beta", "gamma")
    )
    brain.snapshot()
    changes = {row.slug: row.change for row in brain.history.diff("@~1", "@").skills}
    assert changes == {"beta": "removed", "gamma": "added"}
    assert versions(brain, "gamma") == [5]


def test_a_rename_by_command_is_followed_even_without_a_body(two_skills):
    brain = two_skills
    brain.skills.upsert("old", description="words of one line")
    brain.skills.rename("old", "new")
    assert versions(brain, "new") == [1, 2]


def test_a_skill_that_both_branches_renamed_has_the_history_of_both(two_skills):
    brain = two_skills
    brain.skills.rename("beta", "gamma")
    brain.branches.switch("idea")
    for number in (6, 7, 8):
        brain.skills.upsert("beta", f"beta {number}\n")
    brain.skills.rename("beta", "gamma")
    brain.branches.switch("main")
    brain.merge.start("idea", "theirs")
    found = [row.version for row in brain.skills.history("gamma")]
    assert {v for v in found if isinstance(v, int)} == set(range(1, 11))
    assert len(set(brain.skills.history("gamma"))) == len(found)


def test_a_rename_is_one_row_also_when_the_skill_is_renamed_back(two_skills):
    brain = two_skills
    brain.skills.rename("beta", "gamma")
    brain.skills.rename("gamma", "beta")
    rows = [(row.version, row.change) for row in brain.skills.history("beta")]
    assert rows[:3] == [(7, "renamed"), (6, "renamed"), (5, "upgraded")]
