from brain.digest import blob_id
from brain.objects import operation
from brain.objects.snapshot import (
    MAX_TIME_MS,
    Jump,
    Snapshot,
    decode_snapshot,
    encode_snapshot,
    snapshot_id,
)

BUNDLE = blob_id(b"bundle")
GENESIS = Snapshot(
    1, b"", BUNDLE, (), 0, Jump(0, b""), "me", 1, operation.genesis_operation(bytes(16)), "", b""
)
BRAIN = snapshot_id(encode_snapshot(GENESIS))
LATER = Snapshot(
    1,
    BRAIN,
    BUNDLE,
    (BRAIN,),
    1,
    Jump(1, BRAIN),
    "me",
    2,
    operation.snapshot_operation(),
    "why",
    BUNDLE,
)


def test_limits_are_met_exactly():
    ids = tuple(blob_id(bytes([n])) for n in range(16))
    for made in (
        LATER._replace(
            parents=ids,
            generation=2**48,
            jump=Jump(2**48, BRAIN),
            operation=operation.import_operation("git", "skills"),
        ),
        LATER._replace(author="é" * 512, message="é" * 32_768, time=MAX_TIME_MS),
        LATER._replace(author="", message="", time=0, receipt=b""),
    ):
        assert decode_snapshot(encode_snapshot(made)) == made
