import io

import pytest

from brain import Brain
from brain.errors import FormatError, NotFound
from brain.objects import lineage_file
from brain.objects import snapshot as snapshots
from tests.support.refusals import raises_code


@pytest.fixture
def brain(tmp_path):
    made = Brain.init(tmp_path / "parent", author="tester")
    for n in range(6):
        made.skills.upsert("Oracle", f"{n}\n")
    made.branches.create("idea", "@~2")
    made.branches.switch("idea")
    made.skills.upsert("Other", "x\n")
    made.branches.switch("main")
    made.merge.start("idea")
    return made


def file_of(brain: Brain) -> bytes:
    return b"".join(brain.history.export_lineage())


def parts_of(data: bytes) -> list[bytes]:
    """The framed snapshots of a file."""
    at, out = len(lineage_file.LINEAGE_MAGIC), []
    while at < len(data):
        size = 4 + int.from_bytes(data[at : at + 4], "big")
        out.append(data[at : at + size])
        at += size
    return out


def test_the_file_holds_every_snapshot_and_begins_with_the_head(brain):
    found = lineage_file.read_lineage(io.BytesIO(file_of(brain)))
    assert found.head.hex() == brain.head
    assert {id.hex() for id in found.snapshots} == {row.snapshot for row in brain.history.log()}


def test_ancestry_in_the_file_is_that_in_the_brain_also_across_forks(brain, tmp_path):
    brain.fork(tmp_path / "child")
    with Brain.open(tmp_path / "child") as child:
        child.skills.upsert("Oracle", "of the child\n")
        data = file_of(child)
        for row in brain.history.log():
            assert Brain.check_exported_lineage(
                io.BytesIO(data), row.snapshot
            ) == child.history.check_ancestry(row.snapshot)
        found = Brain.check_exported_lineage(io.BytesIO(data), child.head, brain.head)
        assert not found.descends and found.path == []


def test_a_file_cut_off_anywhere_is_refused(brain):
    data = file_of(brain)
    ends = {len(lineage_file.LINEAGE_MAGIC)}
    for part in parts_of(data):
        ends.add(max(ends) + len(part))
    for length in range(len(data)):
        with pytest.raises(FormatError) as caught:
            lineage_file.read_lineage(io.BytesIO(data[:length]))
        code = (
            "incomplete_lineage"
            if length in ends and length > len(lineage_file.LINEAGE_MAGIC)
            else ""
        )
        assert caught.value.code == (code or "bad_lineage")


def test_no_flipped_bit_leaves_the_lineage_of_the_same_head(brain):
    data = file_of(brain)
    head = lineage_file.read_lineage(io.BytesIO(data)).head
    for place in range(0, len(data), 3):
        changed = bytearray(data)
        changed[place] ^= 1 << place % 8
        try:
            found = lineage_file.read_lineage(io.BytesIO(bytes(changed)))
        except FormatError:
            continue
        assert found.head != head


def test_a_snapshot_left_out_is_missed(brain):
    data = file_of(brain)
    parts = parts_of(data)
    for gone in range(1, len(parts)):
        kept = b"".join(part for number, part in enumerate(parts) if number != gone)
        with pytest.raises(FormatError) as caught:
            lineage_file.read_lineage(io.BytesIO(lineage_file.LINEAGE_MAGIC + kept))
        assert caught.value.code in ("incomplete_lineage", "bad_lineage")


@pytest.mark.parametrize("field", ["generation", "jump", "brain"])
def test_a_snapshot_that_lies_about_its_place_is_refused(brain, field):
    part, *rest = parts_of(file_of(brain))
    head = snapshots.decode_snapshot(part[4:])
    other = snapshots.snapshot_id(rest[3][4:])
    lies = {
        "generation": head._replace(generation=head.generation + 1),
        "jump": head._replace(jump=head.jump._replace(target=other)),
        "brain": head._replace(brain=other),
    }
    data = snapshots.encode_snapshot(lies[field])
    framed = len(data).to_bytes(4, "big") + data
    with raises_code("bad_lineage", FormatError):
        lineage_file.read_lineage(io.BytesIO(lineage_file.LINEAGE_MAGIC + framed + b"".join(rest)))


def test_a_snapshot_stands_in_the_file_once_and_after_what_it_is_a_parent_of(brain):
    parts = parts_of(file_of(brain))
    for order in ([*parts, parts[-1]], [parts[0], *parts[1:][::-1]], [parts[1], *parts]):
        with raises_code("bad_lineage", FormatError):
            lineage_file.read_lineage(io.BytesIO(lineage_file.LINEAGE_MAGIC + b"".join(order)))


def test_nothing_foreign_stands_in_the_file(brain, tmp_path):
    with Brain.init(tmp_path / "other") as other:
        foreign = parts_of(b"".join(other.history.export_lineage()))
    whole = file_of(brain) + b"".join(foreign)
    with raises_code("bad_lineage", FormatError):
        lineage_file.read_lineage(io.BytesIO(whole))


def test_a_lineage_is_written_up_to_an_origin_that_is_not_here(brain):
    with Brain.open(brain.fork(brain.root.parent / "child").path) as child:
        load, genesis = child._session.load_snapshot, child._session.brain_id()
        origin = load(genesis).operation[2]

        def without(snapshot_id: bytes) -> snapshots.Snapshot:
            if snapshot_id == origin:
                raise NotFound("not here", code="missing_object")
            return load(snapshot_id)

        data = b"".join(lineage_file.write_lineage(without, child._session.head()))
        assert list(lineage_file.read_lineage(io.BytesIO(data)).snapshots) == [genesis]
