"""A git repository of skills: its commits become snapshots."""

from pathlib import Path

import pytest

from brain import Brain, results
from brain.adopting.git import repository
from brain.errors import InvalidInput
from brain.util.utc_time import utc_time
from tests.support.git_repositories import (
    EXECUTABLE_MODE,
    LINK_MODE,
    SUBMODULE_MODE,
    GitEntry,
    GitFiles,
    GitRepository,
)
from tests.support.refusals import raises_code

HEAD = b"---\nname: a\ndescription: About a\nversion: %d\n---\n\nBody %d.\n"
SKILL = "skills/a/SKILL.md"


def skill(version: int) -> bytes:
    return HEAD % (version, version)


@pytest.fixture
def repo(tmp_path):
    return GitRepository(tmp_path / "repo")


@pytest.fixture
def target(tmp_path):
    return tmp_path / "brain"


def taken(repo: GitRepository, target: Path) -> results.Adopted:
    done = Brain.adopt(repo.path, target)
    assert done.kind == "git"
    with Brain.open(target) as brain:
        verified = brain.verify(deep=True)
        assert verified.ok and [f.code for f in verified.findings] == []
        assert brain.status().clean
    return done


def history(target: Path) -> list[results.SnapshotInfo]:
    """Return what was taken in, oldest first."""
    with Brain.open(target) as brain:
        return [s for s in list(brain.history.log())[::-1] if s.operation["kind"] == "import"]


def files(target: Path) -> set[str]:
    return {
        path.relative_to(target).as_posix()
        for path in target.rglob("*")
        if (path.is_file() or path.is_symlink()) and ".brain" not in path.parts
    }


def codes(done: results.Adopted) -> dict[str, str]:
    return {notice.path: notice.code for notice in done.left_out}


def test_commits_become_snapshots_with_author_time_message_and_commit_id(repo, target):
    one = repo.commit({SKILL: skill(1)}, message=b"First\n\nMore.\n", when=b"1600000000 -0500")
    two = repo.commit({SKILL: skill(2)}, one, author=b"Eve <e@x.org>", when=b"1600000100 +0000")
    done = taken(repo, target)
    assert done.steps == 2
    first, second = history(target)
    assert (first.author, first.time) == ("Ada <ada@example.org>", utc_time(1_600_000_000_000))
    assert (first.message, first.operation["revision"]) == ("First\n\nMore.", one)
    assert (second.author, second.operation["revision"]) == ("Eve <e@x.org>", two)
    assert second.parents == [first.snapshot]
    assert (target / SKILL).read_bytes() == skill(2)


def test_the_versions_of_authors_stay_and_the_next_upsert_goes_on_from_the_last(repo, target):
    one = repo.commit({SKILL: skill(7)})
    two = repo.commit({SKILL: skill(7) + b"More.\n"}, one)
    repo.commit({SKILL: skill(3)}, two)
    taken(repo, target)
    with Brain.open(target) as brain:
        assert [row.version for row in brain.skills.history("a")] == [3, 7, 7]
        assert brain.skills.upsert("a", body="Better.\n").version == 4


def test_merges_have_all_their_parents(repo, target):
    base = repo.commit({SKILL: skill(1)})
    first = repo.commit({SKILL: skill(1), "skills/l.md": b"l"}, base)
    right = repo.commit({SKILL: skill(1), "skills/r.md": b"r"}, base)
    both: GitFiles = {SKILL: skill(1), "skills/l.md": b"l", "skills/r.md": b"r"}
    repo.commit(both, first, right, message=b"Merge")
    taken(repo, target)
    by_revision = {s.operation["revision"]: s.snapshot for s in history(target)}
    assert history(target)[-1].parents == [by_revision[first], by_revision[right]]


def test_an_octopus_of_more_arms_than_a_snapshot_has_loses_none(repo, target):
    base = repo.commit({SKILL: skill(1)})
    arms = [repo.commit({SKILL: skill(1), f"skills/x{n}.md": b"x"}, base) for n in range(20)]
    everything: GitFiles = {SKILL: skill(1), **{f"skills/x{n}.md": b"x" for n in range(20)}}
    repo.commit(everything, *arms)
    taken(repo, target)
    revisions = {s.operation["revision"] for s in history(target)}
    assert revisions >= {base, *arms}
    assert len(files(target) - {"manifest.yaml"}) == 21


def test_adopting_again_takes_only_what_is_new(repo, target):
    one = repo.commit({SKILL: skill(1)})
    assert taken(repo, target).steps == 1
    before = history(target)
    assert (done := Brain.adopt(repo.path, target)).steps == 0 and not done.changed
    side = repo.commit({SKILL: skill(1), "skills/s.md": b"s"}, one)
    two = repo.commit({SKILL: skill(2)}, one)
    repo.commit({SKILL: skill(2), "skills/s.md": b"s"}, two, side)
    assert taken(repo, target).steps == 3
    assert history(target)[0] == before[0]
    assert (target / "skills/s.md").read_text() == "s"


def test_what_the_brain_learned_meanwhile_is_merged(repo, target):
    one = repo.commit({SKILL: skill(1)})
    taken(repo, target)
    with Brain.open(target) as brain:
        brain.skills.upsert("own", body="Learned.\n", description="Own")
    repo.commit({SKILL: skill(2)}, one)
    assert taken(repo, target).steps == 1
    assert (target / SKILL).read_bytes() == skill(2)
    assert (target / "skills/own/SKILL.md").exists()


def test_a_rewritten_history_is_taken_beside_the_old_one(repo, target):
    one = repo.commit({SKILL: skill(1)})
    repo.commit({SKILL: skill(2)}, one)
    taken(repo, target)
    other = repo.commit({SKILL: skill(1), "skills/b.md": b"b"}, one)
    assert taken(repo, target).steps == 1
    with Brain.open(target) as brain:
        assert other in {s.operation.get("revision") for s in brain.history.log()}


def test_empty_commits_of_a_brain_are_snapshots_too(repo, target):
    state: GitFiles = {SKILL: skill(1), "memory/m.md": b"m"}
    one = repo.commit(state)
    two = repo.commit(state, one, message=b"Nothing")
    repo.commit({**state, "prompts/system.md": b"s"}, two)
    assert taken(repo, target).steps == 3
    first, second, _ = history(target)
    assert second.bundle == first.bundle and second.message == "Nothing"


def test_commits_that_say_nothing_about_skills_are_left_out(repo, target):
    one = repo.commit({"README.md": b"r", SKILL: skill(1)})
    two = repo.commit({"README.md": b"R", SKILL: skill(1)}, one)
    repo.commit({"README.md": b"R", SKILL: skill(2)}, two)
    assert taken(repo, target).steps == 2
    assert files(target) == {"manifest.yaml", SKILL}


def test_skills_at_the_top_of_a_repository_go_into_skills(repo, target):
    repo.commit(
        {"a/SKILL.md": skill(1), "a/scripts/x.sh": GitEntry(b"x", EXECUTABLE_MODE), "LICENSE": b"l"}
    )
    repo.check_out()
    taken(repo, target)
    assert files(target) == {"manifest.yaml", SKILL, "skills/a/scripts/x.sh"}
    assert (target / "skills/a/scripts/x.sh").stat().st_mode & 0o100


def test_a_project_of_a_program_goes_where_the_program_has_its_files(repo, target):
    one = repo.commit({".claude/skills/a/SKILL.md": skill(1), "src/main.py": b"1"})
    two = repo.commit({".claude/skills/a/SKILL.md": skill(1), "src/main.py": b"2"}, one)
    repo.commit({".claude/skills/a/SKILL.md": skill(2), "CLAUDE.md": b"Be kind."}, two)
    repo.check_out()
    assert Brain.adopt(repo.path, target, "git").steps == 2
    assert files(target) == {"manifest.yaml", SKILL, "CLAUDE.md"}


def test_a_repository_of_skills_is_one_though_a_program_has_notes_in_it(repo, target):
    repo.commit({SKILL: skill(1), "CLAUDE.md": b"How to work here."})
    repo.check_out()
    taken(repo, target)
    assert files(target) == {"manifest.yaml", SKILL}


def test_a_bare_repository_is_adopted_too(tmp_path, target):
    repo = GitRepository(tmp_path / "repo.git", "--bare")
    repo.commit({SKILL: skill(1)})
    assert taken(repo, target).steps == 1


def test_ids_of_sha_256_are_kept_as_revisions(tmp_path, target):
    repo = GitRepository(tmp_path / "repo", "--object-format=sha256")
    one = repo.commit({SKILL: skill(1)})
    repo.commit({SKILL: skill(2)}, one)
    taken(repo, target)
    assert len(one) == 64 and history(target)[0].operation["revision"] == one


@pytest.mark.parametrize(
    ("when", "milliseconds"),
    [
        (b"-86400 +0000", 0),
        (b"0 +0000", 0),
        (b"253402300800 +0000", 253_402_300_799_999),
        (b"99999999999999999999999 +0000", 0),
        (b"now", 0),
        (b"", 0),
    ],
)
def test_times_that_a_snapshot_cannot_hold_become_the_nearest(repo, target, when, milliseconds):
    repo.commit({SKILL: skill(1)}, when=when)
    taken(repo, target)
    assert history(target)[0].time == utc_time(milliseconds)


@pytest.mark.parametrize(
    ("author", "told"),
    [
        (b"\x1b[31mRed\x07 <r@x>", "[31mRed <r@x>"),
        (b"A\xc3\xa9 <>", "Aé"),
        (b"Latin \xe9 <l@x>", "Latin � <l@x>"),
        (b"No mail", ""),
        (b"<only@mail>", "<only@mail>"),
        (b"\xe2\x80\xaeBidi <b@x>", "Bidi <b@x>"),
    ],
)
def test_authors_lose_what_cannot_be_seen(repo, target, author, told):
    repo.commit({SKILL: skill(1)}, author=author)
    taken(repo, target)
    assert history(target)[0].author == told


def test_a_message_of_another_encoding_is_read_by_it(repo, target):
    repo.commit({SKILL: skill(1)}, message=b"Caf\xe9\x1b[2J", more=b"encoding ISO-8859-1\n")
    taken(repo, target)
    assert history(target)[0].message == "Café[2J"


def test_a_message_longer_than_a_snapshot_holds_is_cut(repo, target):
    repo.commit({SKILL: skill(1)}, message="é".encode() * 100_000)
    taken(repo, target)
    assert history(target)[0].message.endswith("é […]")


def test_a_message_of_megabytes_as_of_a_squash_is_cut(repo, target):
    repo.commit({SKILL: skill(1)}, message=b"Squash\n" + b"* a line of many\n" * 160_000)
    taken(repo, target)
    assert history(target)[0].message.startswith("Squash\n* a line")


def test_what_a_brain_cannot_hold_is_left_out_and_named(repo, target):
    repo.commit(
        {
            SKILL: skill(1),
            "skills/a/sub": GitEntry(b"1" * 40, SUBMODULE_MODE),
            "skills/a/out": GitEntry(b"../../../etc/passwd", LINK_MODE),
            "skills/a/in": GitEntry(b"SKILL.md", LINK_MODE),
            b"skills/a/\xff.md": b"x",
            "skills/a/\x01.md": b"x",
            "skills/a/.git/hooks/post-checkout": b"x",
            "skills/a/.env": b"X=1",
            "skills/a/data.sqlite": b"x",
            "skills/a/node_modules/x.js": b"x",
            "skills/a/huge.bin": b"x" * (17 << 20),
            "skills/a/crlf.md": b"a\r\nb\r\n",
        }
    )
    done = taken(repo, target)
    assert files(target) == {"manifest.yaml", SKILL, "skills/a/in", "skills/a/crlf.md"}
    assert (target / "skills/a/crlf.md").read_bytes() == b"a\r\nb\r\n"
    skipped = codes(done)
    assert skipped["skills/a/sub"] == "submodule"
    assert skipped["skills/a/out"] == "link_outside"
    assert skipped["skills/a/huge.bin"] == "too_large"
    assert skipped["skills/a/data.sqlite"] == skipped["skills/a/.env"] == "left_out"
    assert skipped["skills/a/node_modules"] == "left_out"
    assert len(skipped) >= 7, skipped


def test_spellings_that_one_folder_cannot_hold_are_kept_apart(repo, target):
    one = repo.commit({SKILL: skill(1), "skills/a/Note.md": b"1"})
    two = repo.commit({SKILL: skill(1), "skills/a/Note.md": b"1", "skills/a/note.md": b"2"}, one)
    repo.commit({SKILL: skill(1), "skills/A/x.md": b"3", "skills/a/Note.md": b"1"}, two)
    done = taken(repo, target)
    assert files(target) == {"manifest.yaml", SKILL, "skills/a/Note.md"}
    assert codes(done)["skills/a/note.md"] == codes(done)["skills/A/x.md"] == "case_collision"


def test_a_file_renamed_in_its_case_alone_is_followed(repo, target):
    one = repo.commit({SKILL: skill(1), "skills/a/Note.md": b"1"})
    repo.commit({SKILL: skill(1), "skills/a/note.md": b"1"}, one)
    taken(repo, target)
    assert "skills/a/note.md" in files(target)


def test_a_file_that_becomes_a_folder_is_followed(repo, target):
    one = repo.commit({SKILL: skill(1), "skills/a/x": b"1"})
    two = repo.commit({SKILL: skill(1), "skills/a/x/y": b"1"}, one)
    repo.commit({SKILL: skill(1), "skills/a/x": b"2"}, two)
    taken(repo, target)
    assert (target / "skills/a/x").read_bytes() == b"2"


def test_a_repository_without_a_skill_says_so(repo, target):
    repo.commit({"README.md": b"r"})
    with raises_code("unknown_source", InvalidInput):
        Brain.adopt(repo.path, target, "git")


def test_a_damaged_repository_changes_nothing(repo, target):
    one = repo.commit({SKILL: skill(1)})
    lost = repo.run_git("rev-parse", f"{one}^{{tree}}").decode().strip()
    repo.commit({SKILL: skill(2)}, one)
    repo.check_out()
    (repo.path / ".git/objects" / lost[:2] / lost[2:]).unlink()
    with raises_code("bad_repository", InvalidInput):
        Brain.adopt(repo.path, target)
    assert not target.exists()


def test_what_is_said_to_be_taken_is_what_the_last_commit_has(repo, target):
    one = repo.commit({SKILL: skill(1), "skills/a/old.md": b"o", "skills/a/back.md": b"b"})
    side = repo.commit({SKILL: skill(1), "skills/a/old.md": b"o"}, one)
    two = repo.commit({SKILL: skill(2), "skills/a/back.md": b"b"}, one)
    repo.commit({SKILL: skill(2), "skills/a/back.md": b"b"}, two, side)
    look_like = {placed.path for placed in Brain.preview_adoption(repo.path, target).taken}
    done = taken(repo, target)
    assert {placed.path for placed in done.taken} == {SKILL, "skills/a/back.md"} == look_like
    assert files(target) == {"manifest.yaml", SKILL, "skills/a/back.md"}


def test_more_commits_than_are_taken_are_refused_and_a_clone_of_the_newest_is_taken(
    repo, target, monkeypatch
):
    made: list[str] = []
    for number in range(1, 5):
        made.append(repo.commit({SKILL: skill(number)}, *made[-1:]))
    monkeypatch.setattr(repository, "MAX_COMMITS", 3)
    with raises_code("too_many", InvalidInput) as caught:
        Brain.adopt(repo.path, target)
    assert "--depth" in caught.value.hint
    assert not target.exists()
    clone = target.parent / "clone"
    repo.run_git("clone", "--quiet", "--depth", "3", f"file://{repo.path}", str(clone))
    done = Brain.adopt(clone, target)
    assert done.steps == 3
    assert [row.operation["revision"] for row in history(target)] == made[1:]
