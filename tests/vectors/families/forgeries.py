"""Proofs that prove nothing: forged in earnest, or no proofs at all."""

from collections.abc import Iterator

from brain.digest import blob_id
from brain.objects.lineage import jump_target_depth
from brain.objects.operation import genesis_operation
from brain.objects.snapshot import Jump, Snapshot, encode_snapshot, snapshot_id
from brain.objects.tree_node import last_path_hash
from brain.proofs.json_fields import to_base64
from brain.proofs.proof_json import PROOF_FORMAT
from tests.vectors.families.proven import (
    DAG,
    EIGHT,
    NONE,
    OTHER,
    SMALL,
    WIDE,
    Document,
    between_nodes,
    descent,
)

_HEAD = ("format", "brain", "snapshot", "bundle", "encoded")


def documents() -> Iterator[tuple[str, Document]]:
    """Yield forged proofs."""
    yield from _paths()
    yield from _gaps()
    yield from _sections()
    yield from _descents()


def _line(proof: Document, steps: int) -> Document:
    fields = {key: proof[key] for key in ("path", "type", "blob", "size")}
    return {**fields, "climb": proof["climb"][:steps]}


def _paths() -> Iterator[tuple[str, Document]]:
    good = SMALL.path_proof("skills/b.md")
    other = OTHER.path_proof("skills/b.md")
    yield "the head of another brain", {**good, **{key: other[key] for key in _HEAD}}
    yield "the way up of another brain", {**other, **{key: good[key] for key in _HEAD}}
    own = {key: good[key] for key in ("brain", "snapshot", "encoded")}
    yield "another bundle beside the snapshot", {**other, **own}
    for key in ("brain", "snapshot", "bundle", "encoded", "blob", "climb"):
        yield f"the {key} of another brain", {**good, key: other[key]}
    wide = WIDE.path_proof("skills/00123.md")
    place = next(place for place, one in enumerate(wide["climb"]) if isinstance(one, dict))
    opening = wide["climb"][place]
    lines = WIDE.nodes.get(WIDE.bundle["skills"].node).entries
    last, node = next(
        line[:2] for line in lines if last_path_hash(line[0]).hex() == opening["last"]
    )
    for kind in ("file", "executable", "link"):
        inner = {"path": f"skills/{last}", "type": kind, "blob": node.hex()}
        whole = {"size": opening["bytes"], "climb": wide["climb"][place + 1 :]}
        yield f"an entry of an inner node said to be of type {kind}", {**wide, **inner, **whole}
    fake = {"last": last_path_hash("b.md").hex(), "files": 1, "bytes": good["size"]}
    yield "a file as a node", {**good, "climb": [fake, *good["climb"]]}
    yield "a root as a node", {**good, "climb": [*good["climb"], fake]}
    yield "a node as a file", {**good, "blob": good["climb"][0][1:], "climb": good["climb"][1:]}
    for what, path in (("another", "00000.md"), ("the full", f"skills/{last}")):
        swapped = {**opening, "last": last_path_hash(path).hex()}
        climb = [*wide["climb"][:place], swapped, *wide["climb"][place + 1 :]]
        yield f"a node said to end with {what} path", {**wide, "climb": climb}
    section = SMALL.bundle["skills"]
    whole = {"path": "skills", "blob": section.node.hex(), "size": section.bytes}
    line = {"climb": good["tree"]["steps"], "tree": {**good["tree"], "steps": []}}
    yield "a section as a file", {**good, **whole, **line}
    yield "the section as if it were another", {**good, "path": "memory/b.md"}
    yield "a file of a section at the top", {**good, "path": "b.md"}


def _gaps() -> Iterator[tuple[str, Document]]:
    good = EIGHT.absence_proof("skills/2x")
    for first, second in ((0, 2), (1, 3), (2, 4), (0, 7)):
        left, right = EIGHT.path_proof(f"skills/{first}"), EIGHT.path_proof(f"skills/{second}")
        for steps in range(4):
            ends = {"before": _line(left, steps), "after": _line(right, steps)}
            name = f"{first} and {second} as neighbours after {steps} steps"
            shared = {"path": f"skills/{first + 1}", "climb": left["climb"][steps + 1 :]}
            yield name, {**good, **ends, **shared}
    for number in (1, 3, 6):
        found = EIGHT.path_proof(f"skills/{number}")
        for side, path in (("before", "skills/z"), ("after", "skills/!")):
            ends = {"before": None, "after": None, side: _line(found, 3)}
            yield f"{number} alone {side} all", {**good, "path": path, **ends, "climb": []}
            ends[side] = _line(found, 0)
            shared = {"path": path, "climb": found["climb"]}
            yield f"{number} alone {side}, with a way shared", {**good, **ends, **shared}
    for path in ("skills/2", "skills/3", "skills/1x", "skills/3x", "skills/!"):
        yield f"{path} between 2 and 3", {**good, "path": path}
    yield "neighbours the wrong way round", {
        **good, "before": good["after"], "after": good["before"]
    }  # fmt: skip
    yield "one neighbour twice", {**good, "after": good["before"]}
    yield "no neighbours", {**good, "before": None, "after": None}
    yield "no neighbours and no way", {**good, "before": None, "after": None, "climb": []}
    yield "a path of another section", {**good, "path": "memory/2x"}
    yield "a neighbour of another section", {
        **good, "before": {**good["before"], "path": "memory/2"}
    }  # fmt: skip
    wide = between_nodes(WIDE, 1)
    yield "neighbours of two levels", {
        **wide, "before": {**wide["before"], "climb": wide["before"]["climb"][:-1]}
    }  # fmt: skip


def _sections() -> Iterator[tuple[str, Document]]:
    good = SMALL.absence_proof("a/b")
    for path in ("SOUL.md", "memory/x", "skills/x", "zz/x", "-/x"):
        yield f"{path} in a section between . and memory", {**good, "path": path}
    yield "a brain said to be empty", {**good, "before": None, "after": None, "steps": []}
    yield "no neighbours but a way", {**good, "before": None, "after": None}
    skills = SMALL.absence_proof("n/b")["after"]
    yield "sections that are no neighbours", {**good, "path": "memory/x", "after": skills}
    empty = NONE.absence_proof("a/b")
    yield "an empty brain with a neighbour", {**empty, "before": good["before"]}
    last = {**good["before"], "steps": []}
    yield "the first section as the last", {**good, "before": last, "after": None, "steps": []}


def _chain(*chain: Snapshot) -> Document:
    """Return a proof of descent of these snapshots."""
    ids = [snapshot_id(encode_snapshot(one)) for one in chain]
    return {
        "format": PROOF_FORMAT,
        "kind": "descent",
        "brain": (chain[0].brain or ids[0]).hex(),
        "snapshot": ids[0].hex(),
        "ancestor": ids[-1].hex(),
        "chain": [to_base64(encode_snapshot(one)) for one in chain],
    }


def _descents() -> Iterator[tuple[str, Document]]:
    good = descent(2, 49)
    for place in range(1, len(good["chain"]) - 1):
        chain = [*good["chain"][:place], *good["chain"][place + 1 :]]
        yield f"link {place} missing", {**good, "chain": chain}
    yield "the chain the other way round", {**good, "chain": good["chain"][::-1]}
    yield "no chain", {**good, "chain": []}
    yield "another snapshot", {**good, "snapshot": DAG.ids[48].hex()}
    yield "another ancestor", {**good, "ancestor": DAG.ids[3].hex()}
    yield "another brain", {**good, "brain": OTHER.id.hex()}
    at = [DAG.known[here] for here in DAG.ids]
    foreign = at[38]._replace(brain=OTHER.id)
    here = snapshot_id(encode_snapshot(foreign))
    yield "a parent in another brain", _chain(at[39]._replace(parents=(here,)), foreign)
    yield "a jump into another brain", _chain(at[45]._replace(jump=Jump(45, here)), foreign)
    yield "a receipt as a link", _chain(at[40]._replace(receipt=DAG.ids[10]), at[10])
    yield "a restore as a link", _chain(at[40]._replace(operation=("restore", DAG.ids[10])), at[10])
    both = (DAG.ids[39], DAG.ids[20])
    merge = at[40]._replace(parents=both, operation=("merge", (DAG.ids[10],), ()))
    yield "a base of a merge as a link", _chain(merge, at[10])
    assert jump_target_depth(45) == 38
    for old in (0, 30, 37, 39, 43):
        forged = at[45]._replace(jump=Jump(45, DAG.ids[old]))
        yield f"a jump from depth 45 to {old}", _chain(forged, at[old])
    later = at[40]._replace(parents=(DAG.ids[39], DAG.ids[45]), operation=("graft",))
    yield "a second parent of a greater generation", _chain(later, at[45])
    old = at[38]._replace(generation=45)
    jumping = at[45]._replace(jump=Jump(45, snapshot_id(encode_snapshot(old))))
    yield "a jump to the same generation", _chain(jumping, old)
    young = at[40]._replace(generation=39, jump=Jump(39, DAG.ids[38]))
    yield "a parent that is no older", _chain(young, at[39])
    yield (
        "a first parent ten levels up",
        _chain(at[40]._replace(jump=Jump(30, DAG.ids[15])), at[39]),
    )
    yield "a fork with another bundle", _chain(at[61]._replace(bundle=blob_id(b"x")), at[60])
    yield (
        "a fork of nothing",
        _chain(at[61]._replace(operation=genesis_operation(bytes(16))), at[60]),
    )
    yield "a parent after a genesis", _chain(at[0], at[1])


def malformed(text: str) -> Iterator[tuple[str, str]]:
    """Yield what is made of the text of a proof that proves `skills/b.md`, of 11 bytes."""
    yield "no text", ""
    yield "half a proof", text[: len(text) // 2]
    yield "a proof and more", text + "{}"
    yield "a list", "[]"
    yield "a list in a list, a thousand deep and more", "[" * 5000
    yield "a field twice", text.replace('"size": 11', '"size": 11, "size": 11')
    yield "the kind twice", text.replace("{", '{"kind": "path", ', 1)
    for name, number in [("a fraction", "11.0"), ("an exponent", "11e0"), ("not a number", "NaN")]:
        yield f"a size that is {name}", text.replace('"size": 11', f'"size": {number}')
    for name, number in [("minus zero", "-0"), ("less than nothing", "-1"), ("zero twice", "00")]:
        yield f"a size that is {name}", text.replace('"size": 11', f'"size": {number}')
    for name, path in [("above", "../b.md"), ("absolute", "/b.md"), ("a surrogate", "\\ud800")]:
        yield f"a path that is {name}", text.replace('"path": "skills/b.md"', f'"path": "{path}"')
    later = PROOF_FORMAT.replace("1", "2")
    yield "a later format", text.replace(PROOF_FORMAT, later)
    end = text.rindex('"}')
    for name, tail in [("a line feed", '\\n"}'), ("more padding", '="}'), ("no padding", '"}')]:
        kept = text[:end].rstrip("=") if name == "no padding" else text[:end]
        yield f"a snapshot in base64 with {name}", kept + tail
