"""Both implementations agree on what an operation may change."""

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from brain.digest import blob_id
from brain.encoding import pack
from brain.errors import BrainError
from tests.conformance.independent.objects import InvalidFormat
from tests.conformance.test_independent import _change as theirs
from tests.conformance.test_vectors import _change as ours
from tests.support.cases import read_cases
from tests.support.conformance.golden_vectors import GoldenVector

CASES = read_cases(__file__)

PATHS = CASES["paths"]
SECRET = "one"
ID = bytes(32)
OPERATIONS: list[tuple[Any, ...]] = [
    ("upsert", "oracle", "", "1"),
    ("delete", "oracle", "1"),
    ("absorb", "oracle", "1", "2", "seer", "1"),
    ("retire", "oracle", "1", "", ID),
    ("upsert", "skill", "", "1"),
    ("redact", "memory/a.md", blob_id(SECRET.encode()), "why"),
    ("restore", ID),
    ("task", "a run", "success"),
    ("bind", ID, "x", ID),
    ("snapshot",),
    ("graft",),
]
contents = st.sampled_from([SECRET, "two", "three"])
files = st.dictionaries(st.sampled_from(PATHS), contents, max_size=12)
edits = st.dictionaries(st.sampled_from(PATHS), contents | st.none(), max_size=6)


def listed(some: dict[str, str | None]) -> list[list[Any]]:
    """Return files as a vector lists them; a file where a folder has to be is left out."""
    kept = {path: text for path, text in some.items() if text is not None}
    return [
        [path, 0, blob_id(text.encode()).hex(), len(text)] for path, text in sorted(kept.items())
    ]


@given(st.sampled_from(OPERATIONS), files, edits, st.none() | files)
@example(("delete", "oracle", "1"), {"skills/oracle.md": "x"}, {"skills/oracle.md": None}, None)
def test_both_take_and_refuse_the_same_changes(done, before, changed, source):
    given_ = {
        "operation": pack(done).hex(),
        "before": listed({**before}),
        "after": listed({**before, **changed}),
    }
    if source is not None and done[0] == "restore":
        given_["source"] = listed({**source})
    vector = GoldenVector("", "change", True, given_, {}, "")
    verdicts = []
    for check in (ours, theirs):
        try:
            check(vector)
            verdicts.append(True)
        except (BrainError, InvalidFormat):
            verdicts.append(False)
    assert verdicts[0] == verdicts[1]
