"""A skill can be changed and merged, whatever its author wrote for its version."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from brain import Brain
from tests.cli.conftest import cli, keys
from tests.support.refusals import raises_code

__all__ = ["cli", "keys"]

NEXT = {
    "1.0.0-rc.1": "1.0.0-rc.2",
    '"1.0.0-rc.9"': "1.0.0-rc.10",
    "2.8.3-canary.4": "2.8.3-canary.5",
    "v3.1.0-rc09": "3.1.0-rc10",
    "1.0.0-beta": "1.0.1",
    "1.0.0+build.7": "1.0.1",
    "1.0.0-rc.1+exp.sha": "1.0.0-rc.2",
    "9999-01-02": "9999-01-02.1",
    "9999-01-02.9": "9999-01-02.10",
    "v2.3.0": "2.3.1",
    "1.9": "1.10",
}
KEPT = ["latest", "1.2.x", "1.2.3.4.5", "999999999", "[1, 2]", "0x10"]
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def write(brain: Brain, version: str, body: str = "a\nb\nc\nd\ne\n") -> Path:
    file = brain.root / "skills/m.md"
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"---\nname: m\ndescription: M\nversion: {version}\n---\n{body}")
    brain.snapshot()
    return file


def version_line(file: Path) -> str:
    return next(line for line in file.read_text().splitlines() if line.startswith("version"))


@pytest.fixture
def brain(tmp_path):
    return Brain.init(tmp_path / "b", author="ada")


@pytest.mark.parametrize(("version", "after"), NEXT.items())
def test_every_way_to_write_it_goes_to_the_next_version(brain, version, after):
    with brain:
        file = write(brain, version)
        first = brain.skills.view("m")
        done = brain.skills.upsert("m", "Better.\n")
        assert (done.version, done.previous_version) == (after, first.version)
        assert not done.notices
        head = version.strip('"')[:1] if version.startswith(("v", '"v')) else ""
        assert head + after in version_line(file)
        assert ('"' in version) == ('"' in version_line(file)) or after == "1.10"
        patched = brain.skills.edit("m", lambda old: (old or b"") + b"more\n")
        written = brain.skills.edit("m", lambda _: b"x", file="references/a.md")
        reverted = brain.skills.revert("m", str(first.version))
        versions = [first.version, after, patched.version, written.version, reverted.version]
        assert len(set(versions)) == 5
        assert [one.version for one in brain.skills.history("m")] == versions[::-1]
        assert "Better" in brain.skills.view(f"m@{after}").body
        assert "a\nb" in brain.skills.view(f"m@{first.version}").body
        brain.skills.rename("m", "n")
        brain.skills.delete("n")
        again = brain.skills.upsert("n", "New.\n", description="d")
        assert again.version not in versions
        checked = brain.verify(deep=True)
        assert checked.ok and not [one for one in checked.findings if one.severity == "error"]


def test_a_date_becomes_today(brain):
    with brain:
        write(brain, "2020-08-20")
        done = brain.skills.upsert("m", "Better.\n")
        assert DAY.fullmatch(str(done.version)) and str(done.version) > "2020-08-20"
        again = brain.skills.upsert("m", "Best.\n")
        assert str(again.version).startswith(str(done.version)) or str(again.version) > str(
            done.version
        )


@pytest.mark.parametrize("version", KEPT)
def test_what_has_no_next_version_is_kept_and_said(brain, cli, version):
    with brain:
        file = write(brain, version)
    (brain.root.parent / "body.md").write_text("Better.\n")
    base = ("-C", str(brain.root))
    told = cli(*base, "--json", "skill", "upsert", "m", "-f", str(brain.root.parent / "body.md"))
    assert told.status == 0, told.err
    assert [one["code"] for one in told.document["notices"]] == ["version_kept"]
    assert version_line(file) == f"version: {version}" and "Better." in file.read_text()
    arguments = {"action": "patch", "name": "m", "old_string": "Better", "new_string": "Best"}
    assert cli(*base, "tools", "call", "skill_manage", json.dumps(arguments)).status == 0
    said = cli(*base, "skill", "upsert", "m", "-d", "New line")
    assert said.status == 0 and "keeps its version" in said.err
    assert version_line(file) == f"version: {version}" and "Best." in file.read_text()
    assert cli(*base, "--json", "verify", "--deep").document["ok"]


@pytest.mark.parametrize(
    ("version", "ours", "theirs", "merged"),
    [
        ("1.0.0-rc.1", "1.0.0-rc.1", "1.0.0-rc.1", "1.0.0-rc.2"),
        ("1.0.0-rc.1", "1.0.0-rc.10", "1.0.0-rc.9", "1.0.0-rc.11"),
        ("1.0.0-rc.1", "1.0.0", "1.0.0-rc.2", "1.0.1"),
        ("9999-01-02", "9999-01-02", "9999-01-02.1", "9999-01-02.2"),
        ("1", "3", "1.0.0-rc.1", "4"),
        ("latest", "latest", "latest", "latest"),
        ("latest", "2", "latest", "3"),
    ],
)
def test_edits_of_different_lines_merge_at_what_comes_after_both(
    brain, version, ours, theirs, merged
):
    with brain:
        write(brain, version)
        brain.branches.create("x")
        file = write(brain, ours, "a1\nb\nc\nd\ne\n")
        brain.branches.switch("x")
        write(brain, theirs, "a\nb\nc\nd\ne1\n")
        brain.branches.switch("main")
        result = brain.merge.start("x")
        assert result.conflicts == []
        assert version_line(file) == f"version: {merged}" and "a1\nb\nc\nd\ne1" in file.read_text()
        assert [str(one.version) for one in result.skills] == [merged]
        assert brain.verify(deep=True).ok


def test_a_new_skill_starts_at_such_a_version_and_at_no_other_text(brain):
    head = "---\nname: m\ndescription: M\nversion: {}\n---\nText.\n"
    with brain:
        done = brain.skills.upsert("m", head.format("1.0.0-rc.1"))
        assert (done.version, done.previous_version) == ("1.0.0-rc.1", None)
        with raises_code("bad_version", Exception, match="line 4"):
            brain.skills.upsert("n", head.format("latest"))
        assert brain.verify(deep=True).ok


def test_a_version_that_goes_back_is_noted(brain):
    with brain:
        write(brain, "1.0.0-rc.2")
        write(brain, "1.0.0-rc.1", "less\n")
        assert "version_not_raised" in [one.code for one in brain.verify(deep=True).findings]


def test_such_a_skill_can_be_retired_and_a_decision_that_needs_numbers_says_so(brain):
    with brain:
        write(brain, "1.0.0-rc.1")
        done = brain.programs.retire("m", "of no use")
        assert str(done.version) == "1.0.0-rc.1"
        with raises_code("bad_version", Exception, match="is no version of a skill that runs"):
            brain.programs.reinstate("m", reason="of use")
        assert brain.verify(deep=True).ok
