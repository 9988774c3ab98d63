"""Encoding of any value: it comes back, and nothing else comes back as it."""

from hypothesis import given, settings
from hypothesis import strategies as st

from brain.digest import blob_id
from brain.encoding import pack, unpack
from brain.errors import FormatError
from brain.objects import bundle as bundles
from brain.objects import snapshot, tree_node
from brain.objects.operation import DECISION_KINDS, TASK_OUTCOMES, genesis_operation
from brain.objects.snapshot import Jump, Snapshot
from brain.objects.tree import TreeRoot
from brain.objects.tree_node import INNER, LEAF, TreeEntry, TreeNode
from tests.support.hypothesis_strategies import brain_paths, encodable_texts, encodable_values

digests = st.binary(max_size=8).map(blob_id)
sizes = st.one_of(st.integers(0, 300), st.integers(0, 2**48))
names = st.lists(st.text(max_size=12), min_size=1, max_size=30, unique=True).map(sorted)
times = st.integers(0, snapshot.MAX_TIME_MS)
slugs = st.from_regex(r"[a-z0-9]{1,9}(-[a-z0-9]{1,9}){0,3}", fullmatch=True)
versions = st.from_regex(r"[1-9][0-9]{0,8}|0(\.[0-9]{1,9}){1,3}", fullmatch=True)
names_of_runs = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
later_kinds = st.tuples(st.text("ghijk", min_size=1), encodable_values)
imports = st.tuples(st.just("import"), names_of_runs, names_of_runs, encodable_texts)
operations = st.one_of(
    st.just(("snapshot",)),
    st.tuples(st.just("upsert"), slugs, versions | st.just(""), versions),
    st.tuples(st.just("delete"), slugs, versions),
    st.tuples(st.just("restore"), digests),
    st.tuples(st.just("task"), names_of_runs, st.sampled_from(TASK_OUTCOMES)),
    st.tuples(st.sampled_from(DECISION_KINDS), slugs, versions | st.just(""), versions, digests),
    later_kinds,
    imports,
)


@st.composite
def nodes(draw: st.DrawFn) -> TreeNode:
    kind = draw(st.sampled_from([LEAF, INNER]))
    kinds = st.integers(0, 2)
    lines = []
    for name in draw(names):
        digest, size = draw(digests), draw(sizes)
        leaf = TreeEntry(name, draw(kinds), digest, size)
        lines.append(leaf if kind == LEAF else (name, digest, max(1, size // 2), size))
    return TreeNode(kind, tuple(lines))


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    author, message = draw(st.text(max_size=40)), draw(st.text(max_size=200))
    receipt = draw(st.one_of(st.just(b""), digests))
    bundle, time = draw(digests), draw(times)
    if draw(st.booleans()):
        begin = genesis_operation(draw(st.binary(min_size=16, max_size=16)), draw(st.just(b"")))
        jump = Jump(0, b"")
        return Snapshot(1, b"", bundle, (), 0, jump, author, time, begin, message, receipt)
    parents = tuple(draw(st.lists(digests, min_size=1, max_size=16, unique=True)))
    generation = draw(st.integers(1, 2**48))
    jump = Jump(draw(st.integers(1, generation)), draw(digests))
    done, brain = draw(operations if len(parents) == 1 else later_kinds | imports), draw(digests)
    return Snapshot(
        1, brain, bundle, parents, generation, jump, author, time, done, message, receipt
    )


@given(encodable_values)
def test_every_value_is_read_back_and_encoded_alike(value):
    data = pack(value)
    assert unpack(data) == value
    assert pack(unpack(data)) == data


@given(st.binary(max_size=100))
def test_random_bytes_are_refused_or_are_the_encoding_of_their_value(data):
    try:
        value = unpack(data)
    except FormatError:
        return
    assert pack(value) == data


@given(encodable_values, st.data())
def test_every_flip_of_a_bit_gives_another_value_or_none(value, data):
    flipped = bytearray(pack(value))
    flipped[data.draw(st.integers(0, len(flipped) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    try:
        assert unpack(bytes(flipped)) != value
    except FormatError:
        return


@given(encodable_values, st.binary(min_size=1, max_size=4))
def test_nothing_may_follow_a_value(value, more):
    try:
        unpack(pack(value) + more)
    except FormatError as error:
        assert error.code == "bad_msgpack" or len(more) > 1
    else:
        raise AssertionError("something followed")


@given(nodes())
def test_every_node_is_read_back(made):
    again = tree_node.decode_node(made.encode())
    assert (again.kind, again.entries, again.id) == (made.kind, made.entries, made.id)


@given(snapshots())
def test_every_snapshot_is_read_back(made):
    data = snapshot.encode_snapshot(made)
    assert snapshot.decode_snapshot(data) == made
    assert snapshot.encode_snapshot(snapshot.decode_snapshot(data)) == data


sections = st.dictionaries(
    brain_paths.map(lambda path: path.split("/")[0]),
    st.builds(TreeRoot, digests, st.integers(1, 2**48), sizes),
    max_size=8,
).map(lambda chosen: dict(sorted(chosen.items())))


@given(sections)
def test_every_bundle_is_read_back(made):
    data = bundles.encode_bundle(made)
    assert bundles.decode_bundle(data) == made
    assert list(bundles.decode_bundle(data)) == list(made)


def _flipped(data: bytes) -> list[bytes]:
    number = int.from_bytes(data, "big")
    return [(number ^ 1 << bit).to_bytes(len(data), "big") for bit in range(8 * len(data))]


@settings(max_examples=10)
@given(nodes())
def test_a_node_with_a_bit_flipped_is_refused_or_has_another_id(made):
    for flipped in _flipped(made.encode()):
        try:
            assert tree_node.decode_node(flipped).id != made.id
        except FormatError:
            continue


@settings(max_examples=10)
@given(sections)
def test_a_bundle_with_a_bit_flipped_is_refused_or_has_another_id(made):
    for flipped in _flipped(bundles.encode_bundle(made)):
        try:
            assert bundles.bundle_id(bundles.decode_bundle(flipped)) != bundles.bundle_id(made)
        except FormatError:
            continue


@settings(max_examples=10)
@given(snapshots())
def test_a_snapshot_with_a_bit_flipped_is_refused_or_has_another_id(made):
    data = snapshot.encode_snapshot(made)
    for flipped in _flipped(data):
        try:
            assert snapshot.decode_snapshot(flipped) != made
        except FormatError:
            continue
        assert snapshot.snapshot_id(flipped) != snapshot.snapshot_id(data)
