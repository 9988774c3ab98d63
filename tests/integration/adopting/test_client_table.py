"""Each row of the table of clients: what it names is adopted, and published to the same place."""

from pathlib import Path

import pytest

from brain import Brain
from brain.adopting import PUBLISH_CLIENTS, publish_plan
from brain.adopting.layouts import CLIENT_LAYOUTS, HomeLayout
from brain.adopting.sources import detect_source
from brain.clients.client_table import load_clients
from tests.support.agent_homes import SECRET_MARKER, make_hermes_home, skill_text, write_files

LAYOUTS = [layout for found in CLIENT_LAYOUTS.values() for layout in found]
each_layout = pytest.mark.parametrize("layout", LAYOUTS, ids=[layout.kind for layout in LAYOUTS])


def make_folder(root: Path, layout: HomeLayout) -> dict[str, str]:
    """Make a folder with a file at each place of the row; return the paths in a brain."""
    files: dict[str, str] = {}
    for number, (home, brain) in enumerate(layout.rules):
        is_skill = brain == "skills/"
        name = (f"s{number}/SKILL.md" if is_skill else f"n{number}.md") if home[-1] == "/" else ""
        path = home.replace("*", "any") + name
        text = skill_text(f"s{number}", f"Do {number}.") if is_skill else f"Text {number}.\n"
        write_files(root, {path: text})
        files[path] = brain.replace("*", "any") + name
    return files


def usual_folder(tmp_path: Path, layout: HomeLayout) -> Path:
    return tmp_path / "user" / (layout.home_name or "project")


@each_layout
def test_all_that_a_row_names_is_adopted_and_known(tmp_path, layout):
    root = usual_folder(tmp_path, layout)
    files = make_folder(root, layout)
    write_files(root, {mark: "{}" for mark in layout.marks[:1] if not (root / mark).exists()})
    done = Brain.adopt(root, tmp_path / "brain", layout.kind)
    assert {place.source: place.path for place in done.taken} == files
    if layout.home_name:
        assert detect_source(root)[1].kind == layout.kind


@each_layout
def test_what_was_adopted_is_published_to_the_first_place_of_its_kind(tmp_path, layout):
    root = usual_folder(tmp_path, layout)
    files = make_folder(root, layout)
    Brain.adopt(root, tmp_path / "brain", layout.kind)
    again = usual_folder(tmp_path / "again", layout)
    if layout.kind == "openclaw-state":
        return  # skills are published to the workspace in it
    with Brain.open(tmp_path / "brain") as brain:
        done = brain.publish(layout.client, again)
    expected = {layout.home_path(path) or "" for path in files.values()}
    assert done.kind == layout.kind and set(done.written) == expected
    assert all((again / path).is_file() for path in expected)


@each_layout
def test_what_a_row_leaves_out_stays_out_with_its_reason(tmp_path, layout):
    root = usual_folder(tmp_path, layout)
    make_folder(root, layout)
    reasons = {}
    for pattern, reason in layout.skipped_patterns:
        path = pattern.removeprefix("/").replace("*", "x")
        if "/" in pattern[1:] and not layout.may_contain(path.rpartition("/")[0]):
            continue
        write_files(root, {path: SECRET_MARKER})
        reasons[path] = reason
    done = Brain.adopt(root, tmp_path / "brain", layout.kind)
    left = {row.path: row.message for row in done.left_out}
    assert not reasons.keys() & {place.source for place in done.taken}
    assert {path for path in reasons if path not in left} == set()


def test_the_rows_of_the_table_are_whole():
    clients = load_clients()
    assert len(clients) >= 17 and len(LAYOUTS) == len({layout.kind for layout in LAYOUTS})
    for name, row in clients.items():
        assert row.title and row.known_by and (row.home or row.project or row.mcp), name
        places = (row.mcp.user, *row.mcp.user_on.values()) if row.mcp else ()
        starts = ("~/", "$", "{config}/", "{local}/")
        assert all(path.startswith(starts) for found in places for path in found), name
        assert all(found[-1][0] != "$" for found in places), name


def test_publishing_knows_each_client_that_keeps_skills():
    assert set(PUBLISH_CLIENTS) == {
        *(name for name, found in CLIENT_LAYOUTS.items() if found),
        "agentskills",
    }
    for layout in LAYOUTS:
        assert publish_plan.layout_by_kind(layout.kind, Path("any")) is layout


# Adopting and publishing say how far they are.
class Reports:
    """Keeps what a progress bar would be called with."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int, int]] = []

    def __call__(self, what: str, done: int, total: int) -> None:
        self.calls.append((what, done, total))

    def counts(self, what: str) -> list[int]:
        """Return the counts of one kind of work, in order."""
        return [done for kind, done, _ in self.calls if kind == what]


def test_adopting_and_publishing_report_each_file(tmp_path):
    home = tmp_path / "home"
    make_hermes_home(home)
    preview, adopting, in_place, publishing = (Reports() for _ in range(4))
    planned = Brain.preview_adoption(home, tmp_path / "brain", progress=preview)
    Brain.adopt(home, tmp_path / "brain", progress=adopting)
    counts = adopting.counts("files read")
    assert counts == sorted(counts) and counts[-1] >= len(planned.taken) > 1
    assert preview.counts("files read") == counts
    with Brain.open(tmp_path / "brain") as brain:
        written = brain.publish("claude", tmp_path / "project", progress=publishing).written
    assert len(publishing.counts("files written")) == len(written) > 0
    assert publishing.counts("secret scan")
    Brain.adopt(home, progress=in_place)
    assert in_place.counts("files read")[-1] >= counts[-1]
