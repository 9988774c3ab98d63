"""What a folder cannot hold is found, at the cost of what came and not of what is there."""

import random
from bisect import bisect_left
from collections.abc import Sequence

import pytest

from brain import limits
from brain.digest import blob_id
from brain.errors import InvalidInput
from brain.objects import collisions
from brain.objects.bundle import State
from brain.objects.collisions import (
    MAX_LINK_TARGET_BYTES,
    find_portability_faults,
    is_safe_link_target,
    require_portable,
)
from brain.objects.folding import fold_name
from brain.objects.node_cache import NodeCache
from brain.objects.tree_node import FILE, LINK, TreeEntry
from tests.support.node_store import LinkReader
from tests.support.refusals import raises_code

BLOB = blob_id(b"x")
NO_LINKS = LinkReader(lambda _: None)
LETTERS = (
    *("a", "A", "b", "B", "-", "k", "K", "\u212a", "s", "S", "ß", "ſ", "é", "e", "\u0301"),
    *("\u0345", "\u0323", "ι", "α", "\u1fb3", "\u200d", "가", "\u1100", "\u1161", "\u11a8"),
    *("각", "ﬁ", "f", "i", "中", "Z", ".", "\U0001f9e0", "\ufe0f"),
)


def none_there(_: bytes) -> bytes:
    raise KeyError


def bundle(nodes: NodeCache, paths: Sequence[str]) -> State:
    return State.build(nodes, [TreeEntry(path, FILE, BLOB, 1) for path in paths])


def codes(
    nodes: NodeCache, before: State, after: State, new: Sequence[str]
) -> set[tuple[str, str]]:
    return {
        (fault.code, fault.path)
        for fault in find_portability_faults(NO_LINKS, before, after, (), new)
    }


MANY = [f"{section}/{name}/x" for section in ("m", "n") for name in range(40)]


@pytest.mark.parametrize("others", [[], MANY], ids=["swept", "looked up"])
@pytest.mark.parametrize(
    ("there", "new", "found"),
    [
        (["README.md"], ["readme.md"], {("case_collision", "readme.md")}),
        (["skills/a/x"], ["Skills/b/x"], {("case_collision", "Skills")}),
        (["skills/café/x"], ["skills/cafe\u0301/y"], {("case_collision", "skills/café")}),
        (["a/b/c"], ["a/b"], {("path_conflict", "a/b")}),
        (["a/b"], ["a/b/c"], {("path_conflict", "a/b")}),
        (["a"], ["a/b"], {("path_conflict", "a")}),
        (["a/b"], ["a"], {("path_conflict", "a")}),
        (["a/B"], ["a/b/c"], {("case_collision", "a/b")}),
        (["A"], ["a/b"], {("case_collision", "a")}),
        (["memory/straße.md"], ["memory/STRASSE.md"], {("case_collision", "memory/straße.md")}),
        (["a/b/c/x"], ["a/b/c/y", "a/b/d/x", "a/c/X", "d"], set()),
        (["a/b-c/x"], ["a/b/x", "a/b.c/x", "a/bc"], set()),
        ([], ["x/a", "x/A"], {("case_collision", "x/a")}),
        ([], ["x/a/1", "x/a"], {("path_conflict", "x/a")}),
    ],
)
def test_what_cannot_stand_together_is_found(there, new, found, others):
    nodes = NodeCache(none_there)
    before = bundle(nodes, [*there, *others])
    after = bundle(nodes, [*there, *new, *others])
    named = codes(nodes, before, after, new)
    assert {(code, fold_name(path)) for code, path in named} == {
        (c, fold_name(path)) for c, path in found
    }


def test_looking_up_finds_what_going_through_all_finds():
    chance = random.Random(5)
    for _ in range(6_000):
        some = chance.sample(LETTERS, chance.randint(2, len(LETTERS)))
        drawn = ["".join(chance.choices(some, k=chance.randint(1, 4))) for _ in range(8)]
        name, *names = (one for one in drawn if one not in (".", ".."))
        tails = ("", "/y", "/Q/z", "/é")
        paths = sorted({"x", "w/e", *(f"x/{one}{chance.choice(tails)}" for one in names)})

        def first_from(start: str, paths: list[str] = paths) -> str | None:
            place = bisect_left(paths, start)
            return paths[place] if place < len(paths) else None

        equal_names = {one for one in names if one != name and fold_name(one) == fold_name(name)}
        found = collisions.find_case_variant(first_from, "x/", name)
        assert found in equal_names if equal_names else found is None, (name, paths)


def test_a_new_name_beyond_ascii_is_looked_up_without_going_through_its_folder():
    paths = [f"{chr(code)}{chr(0xAC00 + code)}/SKILL.md" for code in range(0x3400, 0x4A00)]
    asked = []

    def first_from(start: str) -> str | None:
        asked.append(start)
        place = bisect_left(paths, start)
        return paths[place] if place < len(paths) else None

    assert collisions.find_case_variant(first_from, "", "\u4e00\u4e01") is None
    assert collisions.find_case_variant(first_from, "", "\u3600x") is None
    assert len(asked) < 20


def test_a_new_name_is_looked_up_without_going_through_its_folder():
    paths = [f"{number:05}-{'abcdefg'[number % 7]}-skill/SKILL.md" for number in range(20_000)]
    asked = []

    def first_from(start: str) -> str | None:
        asked.append(start)
        place = bisect_left(paths, start)
        return paths[place] if place < len(paths) else None

    assert collisions.find_case_variant(first_from, "", "10000-b-Skill") is None
    assert collisions.find_case_variant(first_from, "", "fresh-skill") is None
    assert (
        collisions.find_case_variant(first_from, "", "10003-B-skill") == "10003-b-skill"
        or len(asked) < 60
    )
    assert len(asked) < 60


def test_a_folder_of_many_new_names_is_listed_once(monkeypatch):
    nodes = NodeCache(none_there)
    there = [f"notes/{chr(0x4E00 + number)}/\u00e9.md" for number in range(500)]
    new = ["notes/\u4e05/e\u0301.md", "notes/\u00c9", "notes/e\u0301", "notes/\u9fa5"]
    before = bundle(nodes, there)
    listed = []
    monkeypatch.setattr(collisions, "_MAX_QUERIES", 4)
    real = collisions._CollisionLookup._list_names
    monkeypatch.setattr(
        collisions._CollisionLookup,
        "_list_names",
        lambda *given: listed.append(given) or real(*given),
    )
    assert codes(nodes, before, bundle(nodes, [*there, *new]), new) == {
        ("case_collision", path) for path in new[:3]
    }
    assert len(listed) == 1


def refusal(path: str, target: bytes) -> str:
    nodes = NodeCache(none_there)
    entry = TreeEntry(path, LINK, BLOB, len(target))
    after = State.build(nodes, [entry])
    try:
        require_portable(LinkReader(lambda _: target), State(nodes), after, {path: entry})
    except InvalidInput as error:
        return error.code
    return ""


@pytest.mark.parametrize(
    "target",
    [
        b"b", b"./b", b"../b", b"..", b"../..", b"../../c/d", b"c//d/", b".", "é".encode(), b"b/.",
        b"...", b"..a/b", b"x" * MAX_LINK_TARGET_BYTES, b"ab:c", b".github/x",
    ],
)  # fmt: skip
def test_a_link_may_lead_to_any_place_inside(target):
    assert refusal("a/b/l", target) == ""


@pytest.mark.parametrize(
    "target",
    [
        b"", b"/", b"/etc/passwd", b"../../..", b"../../../x", b"b/..", b"b/../../x",
        b"../b/../../victim", b"c:/x", b"a\\b", b"..\\x", b"a\0b", b"a\nb", b"\x9b",
        "\x85".encode(),
        b"\xff", b"../../.brain/store.db", b"../../.GIT/config", b"GIT~1/x", b"x/.git./y",
        "../../.\u200c./x".encode(), "..\ufe0f/../../../x".encode(),
        b"x" * (MAX_LINK_TARGET_BYTES + 1),
    ],
)  # fmt: skip
def test_a_link_that_may_lead_out_is_refused(target):
    assert refusal("a/b/l", target) == "link_outside"


def test_no_chain_of_links_that_are_taken_leads_outside():
    """Each is followed as the system does, over many drawn trees."""
    chance = random.Random(3)
    parts = ["..", "..", ".", "", "a", "b", "l", "m", "a/l"]
    followed = 0
    for _ in range(4_000):
        links: dict[str, str] = {}
        for place in chance.sample(["l", "m", "a/l", "a/m", "a/b/l", "b/l", "b/a/m"], 5):
            target = "/".join(chance.choices(parts, k=chance.randint(1, 5)))
            if is_safe_link_target(place, target.encode()):
                links[place] = target
        for place in links:
            followed += _follow(links, place)
    assert followed > 2_000


def _follow(links: dict[str, str], start: str) -> bool:
    here: list[str] = []
    ahead = start.split("/")
    for _ in range(200):
        if not ahead:
            return True
        part = ahead.pop(0)
        if part == "..":
            assert here, (links, start)
            here.pop()
        elif part not in ("", "."):
            here.append(part)
            target = links.get("/".join(here))
            if target is not None:
                here.pop()
                ahead = target.split("/") + ahead
    return False  # round and round, which the system ends as well


def test_a_tree_of_more_than_a_brain_takes_is_refused(monkeypatch):
    nodes = NodeCache(none_there)
    after = bundle(nodes, ["a", "b", "c/d"])
    edits = {entry.path: entry for entry in after.walk()}
    require_portable(NO_LINKS, State(nodes), after, edits)
    monkeypatch.setattr(limits, "MAX_FILES", 2)
    with raises_code("too_many", InvalidInput):
        require_portable(NO_LINKS, State(nodes), after, edits)


def test_a_file_of_more_than_a_brain_takes_is_refused():
    nodes = NodeCache(none_there)
    for size, code in ((limits.MAX_FILE_BYTES, ""), (limits.MAX_FILE_BYTES + 1, "too_large")):
        entry = TreeEntry("a", FILE, BLOB, size)
        after = State.build(nodes, [entry])
        found = [
            f.code
            for f in find_portability_faults(NO_LINKS, State(nodes), after, [("a", entry)], ["a"])
        ]
        assert found == ([code] if code else [])


def test_a_link_that_was_redacted_is_let_be():
    nodes = NodeCache(none_there)
    entry = TreeEntry("l", LINK, BLOB, 5)
    after = State.build(nodes, [entry])
    require_portable(NO_LINKS, State(nodes), after, {"l": entry})
