"""Operations beside what a snapshot changed: what each of them may change, and what it may not."""

from collections.abc import Iterator
from typing import Any

from brain.digest import blob_id
from brain.encoding import pack
from brain.objects import operation
from brain.trust import POLICY_PATH as TRUST
from tests.vectors.families.vector import Vector, refused, valid

Files = dict[str, str]
"""Path to content; a link's begins with `->`, that of an executable file with `#!`."""

_SECRET = blob_id(b"secret")
_ID = bytes(32)
_UPSERT = operation.upsert_operation("oracle", "1", "2")
_NEW = operation.upsert_operation("oracle", "", "1")
_DELETE = ("delete", "oracle", "1")
_ABSORB = ("absorb", "oracle", "1", "2", "seer", "1")
_REDACT = ("redact", "memory/a.md", _SECRET, "a name")
_TASK = ("task", "5f2c", "success")
_RESTORE = ("restore", _ID)
_NAMELESS = f"skill-{blob_id(b'').hex()[:8]}"
"""The slug of no name at all, if there were such a skill."""
_ADMIT = ("admit", "oracle", "1", "1", _ID)

_BASE: Files = {
    "SOUL.md": "calm",
    "memory/a.md": "secret",
    "memory/b.md": "plain",
    "skills/oracle/SKILL.md": "1",
    "skills/oracle/scripts/run.py": "#! run",
    "skills/oracles/SKILL.md": "1",
    "skills/seer/SKILL.md": "1",
    "skills/seer/notes.md": "seen",
    "skills/trader.md": "1",
}

_Edits = dict[str, str | None]
_GOOD: list[tuple[str, operation.SnapshotOperation, Files, _Edits]] = [
    ("an upsert of the text", _UPSERT, _BASE, {"skills/oracle/SKILL.md": "2"}),
    (
        "an upsert with files of the skill",
        _UPSERT,
        _BASE,
        {
            "skills/oracle/SKILL.md": "2",
            "skills/oracle/scripts/run.py": None,
            "skills/oracle/a/b.md": "new",
        },
    ),
    ("a new skill", _NEW, {}, {"skills/oracle/SKILL.md": "1"}),
    ("a new flat skill", _NEW, {}, {"skills/oracle.md": "1"}),
    ("a new skill in a category", _NEW, {}, {"skills/tools/oracle.md": "1"}),
    ("a new skill in deep categories", _NEW, {}, {"skills/a/b/c/oracle/SKILL.md": "1"}),
    ("a new skill in another section", _NEW, {}, {"plugins/a/skills/oracle/SKILL.md": "1"}),
    ("a new skill in a hidden folder", _NEW, {}, {".agents/skills/oracle/skill.md": "1"}),
    (
        "an upsert of a skill that is a section",
        _UPSERT,
        {"oracle/SKILL.md": "1", "oracle/run.py": "run", "SOUL.md": "calm"},
        {"oracle/SKILL.md": "2", "oracle/run.py": None, "oracle/a/b.md": "new"},
    ),
    (
        "a delete of a skill that is a section",
        _DELETE,
        {"oracle/SKILL.md": "1", "oracle/run.py": "run", "SOUL.md": "calm"},
        {"oracle/SKILL.md": None, "oracle/run.py": None},
    ),
    (
        "an absorption from another section",
        _ABSORB,
        {"skills/oracle/SKILL.md": "1", "lib/seer/SKILL.md": "1", "lib/seer/a": "a"},
        {
            "skills/oracle/SKILL.md": "2",
            "skills/oracle/a": "a",
            "lib/seer/SKILL.md": None,
            "lib/seer/a": None,
        },
    ),
    (
        "a flat skill that becomes a folder",
        operation.upsert_operation("trader", "1", "2"),
        _BASE,
        {"skills/trader.md": None, "skills/trader/SKILL.md": "2", "skills/trader/a.txt": "a"},
    ),
    (
        "a name that is no slug",
        operation.upsert_operation("my-oracle", "", "1"),
        {},
        {"skills/My  Oracle!/skill.md": "1"},
    ),
    (
        "a name that is longer than a slug",
        operation.upsert_operation("a" * 63, "", "1"),
        {},
        {f"skills/{'a' * 63}-b/SKILL.md": "1"},
    ),
    (
        "a name of which no slug is left",
        operation.upsert_operation(f"skill-{blob_id(b'!!').hex()[:8]}", "", "1"),
        {},
        {"skills/!!.md": "1"},
    ),
    (
        "a name that is a device",
        operation.upsert_operation(f"skill-{blob_id(b'COM1').hex()[:8]}", "", "1"),
        {},
        {"skills/COM1.MD": "1"},
    ),
    (
        "a text without a name in the folder of a skill",
        _UPSERT,
        _BASE,
        {"skills/oracle/SKILL.md": "2", "skills/oracle/.md": "1"},
    ),
    ("a name beyond ASCII has any slug", _NEW, {}, {"skills/орacle/SKILL.md": "1"}),
    ("an upsert of a skill in its folder", _UPSERT, _BASE, {"skills/oracle/SKILL.md": "2"}),
    (
        "a delete",
        _DELETE,
        _BASE,
        {"skills/oracle/SKILL.md": None, "skills/oracle/scripts/run.py": None},
    ),
    (
        "a delete of a flat skill",
        ("delete", "trader", "1"),
        _BASE,
        {"skills/trader.md": None},
    ),
    (
        "a delete of a flat skill whose name ends in skill",
        ("delete", "my-skill", "1"),
        {"skills/tools/my skill.md": "1", "skills/tools/other.md": "1"},
        {"skills/tools/my skill.md": None},
    ),
    ("a delete of the last skill", _DELETE, {"skills/oracle.md": "1"}, {"skills/oracle.md": None}),
    (
        "an absorption",
        _ABSORB,
        _BASE,
        {
            "skills/oracle/SKILL.md": "2",
            "skills/oracle/notes.md": "seen",
            "skills/seer/SKILL.md": None,
            "skills/seer/notes.md": None,
        },
    ),
    (
        "an absorption among names beyond ASCII",
        _ABSORB,
        {"skills/найти.md": "1", "skills/поиск/SKILL.md": "1", "skills/поиск/a": "a"},
        {
            "skills/найти.md": None,
            "skills/найти/SKILL.md": "2",
            "skills/найти/a": "a",
            "skills/поиск/SKILL.md": None,
            "skills/поиск/a": None,
            "skills/поиск/b": None,
        },
    ),
    (
        "an absorption of what has more files than its own",
        _ABSORB,
        {f"skills/поиск/{name}": "1" for name in ("SKILL.md", "a", "b", "c")}
        | {"skills/найти.md": "1"},
        {f"skills/поиск/{name}": None for name in ("SKILL.md", "a", "b", "c")}
        | {"skills/найти.md": "2"},
    ),
    ("a redaction", _REDACT, _BASE, {"memory/a.md": None}),
    (
        "a redaction of all that held it",
        _REDACT,
        {**_BASE, "b": "secret", "x/y": "secret"},
        {"memory/a.md": None, "b": None, "x/y": None},
    ),
    ("a redaction of what no file holds", _REDACT, {"a": "a"}, {}),
    ("the end of a task", _TASK, _BASE, {}),
    ("an admission that changes nothing", _ADMIT, _BASE, {}),
    ("an admission that writes the skill", _ADMIT, _BASE, {"skills/oracle/SKILL.md": "2"}),
    (
        "a retirement to another folder",
        ("retire", "oracle", "1", "1", _ID),
        _BASE,
        {
            "skills/oracle/SKILL.md": None,
            "skills/oracle/scripts/run.py": None,
            "skills/_retired/oracle/SKILL.md": "1",
            "skills/_retired/oracle/scripts/run.py": "#! run",
        },
    ),
    ("a binding that changes nothing", ("bind", _ID, "x", _ID), _BASE, {}),
    (
        "a snapshot of anything",
        ("snapshot",),
        _BASE,
        {"SOUL.md": None, "a/b": "c"},
    ),
    ("an import of anything", operation.import_operation("git", "x"), _BASE, {"SOUL.md": None}),
    ("a later kind of anything", ("graft", 1), _BASE, {"SOUL.md": None, "a/b": "c"}),
]
_BAD: list[tuple[str, operation.SnapshotOperation, Files, _Edits]] = [
    (
        "an upsert beside another skill",
        _UPSERT,
        _BASE,
        {"skills/oracle/SKILL.md": "2", "skills/seer/SKILL.md": "1!"},
    ),
    (
        "an upsert beside a removed skill",
        _UPSERT,
        _BASE,
        {"skills/oracle/SKILL.md": "2", "skills/trader.md": None},
    ),
    ("an upsert beside memory", _UPSERT, _BASE, {"skills/oracle/SKILL.md": "2", "memory/b.md": ""}),
    (
        "an upsert beside the last file of a section",
        _UPSERT,
        {"skills/oracle.md": "1", "memory/a.md": "a"},
        {"skills/oracle.md": "2", "memory/a.md": None},
    ),
    (
        "an upsert beside a file at the top",
        _UPSERT,
        _BASE,
        {"skills/oracle/SKILL.md": "2", TRUST: "{}"},
    ),
    (
        "an upsert beside a kind that changed",
        _UPSERT,
        _BASE,
        {"skills/oracle/SKILL.md": "2", "SOUL.md": "->calm"},
    ),
    (
        "an upsert beside a name that begins alike",
        _UPSERT,
        _BASE,
        {"skills/oracle/SKILL.md": "2", "skills/oracles/SKILL.md": "2"},
    ),
    (
        "an upsert beside a folder of its name that is no skill",
        _UPSERT,
        _BASE,
        {"skills/oracle/SKILL.md": "2", "skills/x/oracle/data": "2"},
    ),
    (
        "a flat text outside of the section of skills",
        _NEW,
        {},
        {"skills/oracle.md": "1", "other/oracle.md": "1"},
    ),
    (
        "an upsert of a text at the top",
        operation.upsert_operation("skill", "", "1"),
        {},
        {"SKILL.md": "1"},
    ),
    (
        "an upsert beside a skill in another section",
        _UPSERT,
        {"lib/oracle/SKILL.md": "1", "lib/seer/SKILL.md": "1"},
        {"lib/oracle/SKILL.md": "2", "lib/seer/SKILL.md": "2"},
    ),
    (
        "a delete that leaves a file in another section",
        _DELETE,
        {"oracle/SKILL.md": "1", "oracle/run.py": "run"},
        {"oracle/SKILL.md": None},
    ),
    (
        "an upsert with a name beyond ASCII beside it",
        _UPSERT,
        _BASE,
        {"skills/oracle/SKILL.md": "2", "skills/орacle/SKILL.md": "2"},
    ),
    (
        "two names beyond ASCII",
        _NEW,
        {},
        {"skills/орacle/SKILL.md": "1", "skills/оracle/SKILL.md": "1"},
    ),
    ("an upsert of another slug", _NEW, {}, {"skills/seer.md": "1"}),
    (
        "a text without a name",
        operation.upsert_operation(_NAMELESS, "", "1"),
        {},
        {"skills/.md": "1"},
    ),
    (
        "a text without a name in a category",
        operation.upsert_operation(_NAMELESS, "", "1"),
        {},
        {"skills/tools/.MD": "1"},
    ),
    (
        "a delete of a text without a name",
        ("delete", _NAMELESS, "1"),
        {"skills/.md": "1"},
        {"skills/.md": None},
    ),
    (
        "an absorption of a text without a name",
        ("absorb", "oracle", "1", "2", _NAMELESS, "1"),
        {"skills/oracle.md": "1", "skills/.md": "1"},
        {"skills/oracle.md": "2", "skills/.md": None},
    ),
    ("a delete that leaves a file", _DELETE, _BASE, {"skills/oracle/SKILL.md": None}),
    (
        "a delete that adds one",
        ("delete", "trader", "1"),
        _BASE,
        {"skills/trader.md": None, "skills/trader/a": "a"},
    ),
    ("a delete of another", _DELETE, _BASE, {"skills/trader.md": None}),
    ("a delete of nothing", _DELETE, _BASE, {}),
    (
        "a delete of two",
        _DELETE,
        {"skills/oracle.md": "1", "skills/x/oracle.md": "1"},
        {"skills/oracle.md": None, "skills/x/oracle.md": None},
    ),
    ("an absorption of what stays", _ABSORB, _BASE, {"skills/oracle/SKILL.md": "2"}),
    (
        "an absorption that writes nothing",
        _ABSORB,
        _BASE,
        {"skills/seer/SKILL.md": None, "skills/seer/notes.md": None},
    ),
    (
        "an absorption that changes the other",
        _ABSORB,
        _BASE,
        {
            "skills/oracle/SKILL.md": "2",
            "skills/seer/SKILL.md": None,
            "skills/seer/notes.md": "unseen",
        },
    ),
    (
        "an absorption beside a third",
        _ABSORB,
        _BASE,
        {
            "skills/oracle/SKILL.md": "2",
            "skills/seer/SKILL.md": None,
            "skills/seer/notes.md": None,
            "skills/trader.md": None,
        },
    ),
    ("a redaction that leaves one", _REDACT, {**_BASE, "b": "secret"}, {"memory/a.md": None}),
    ("a redaction that removes nothing", _REDACT, _BASE, {}),
    ("a redaction beside another file", _REDACT, _BASE, {"memory/a.md": None, "SOUL.md": None}),
    ("a redaction that writes", _REDACT, _BASE, {"memory/a.md": "x"}),
    ("a redaction of who may sign", _REDACT, {TRUST: "secret"}, {TRUST: None}),
    ("the end of a task that writes", _TASK, _BASE, {"memory/b.md": "x"}),
    ("an admission of another skill", _ADMIT, _BASE, {"skills/seer/SKILL.md": "2"}),
    ("a binding that writes", ("unbind", _ID, "x", _ID), _BASE, {"SOUL.md": "x"}),
]


def vectors() -> Iterator[Vector]:
    """Yield operations with the files before and after."""
    for name, done, before, edits in _GOOD:
        yield valid(name, "change", _given(done, before, edits))
    for name, done, before, edits in _BAD:
        yield refused(name, "change", _given(done, before, edits), "false_operation")
    then = {"SOUL.md": "stern", "memory/b.md": "plain", "old": "old"}
    brought: _Edits = {"SOUL.md": "stern", "old": "old", "memory/a.md": None}
    for name, edits in [
        ("a restore of all", brought),
        ("a restore of one path", {"old": "old"}),
        ("a restore that changes nothing", {}),
    ]:
        yield valid(name, "change", {**_given(_RESTORE, _BASE, edits), "source": _listed(then)})
    for name, edits in [
        ("a restore of another content", {"SOUL.md": "mild"}),
        ("a restore that removes what was there", {"memory/b.md": None}),
        ("a restore that adds what was not there", {"new": "new"}),
        ("a restore of another kind", {"old": "->old"}),
    ]:
        given = {**_given(_RESTORE, _BASE, edits), "source": _listed(then)}
        yield refused(name, "change", given, "false_operation")
    given = _given(_RESTORE, _BASE, {"new": "new"})
    yield valid("a restore from a source that is not here", "change", given)


def _given(done: operation.SnapshotOperation, before: Files, edits: _Edits) -> dict[str, Any]:
    after = {path: text for path, text in {**before, **edits}.items() if text is not None}
    return {
        "operation": pack(operation.check_operation(done)).hex(),
        "before": _listed(before),
        "after": _listed(after),
    }


def _listed(files: Files) -> list[list[Any]]:
    return [
        [
            path,
            2 if text[:2] == "->" else int(text[:2] == "#!"),
            blob_id(text.encode()).hex(),
            len(text.encode()),
        ]
        for path, text in sorted(files.items())
    ]
