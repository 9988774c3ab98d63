"""Verdicts are read from a store within their limits."""

import pytest

from brain import limits
from brain.digest import NO_DIGEST
from brain.errors import FormatError, NotFound
from brain.repo.read.read_verdicts import read_verdict, read_verdict_blobs, read_verdict_state
from brain.verdicts.verdict_json import encode_verdict
from brain.verdicts.verdict_types import ProgramFile
from tests.support.decisions import OUTPUT, PAYLOAD, admission
from tests.support.refusals import raises_code

BLOB = b"\x11" * 32


class OneBlob:
    """A reader of one blob, which may claim a size, be missing or be redacted."""

    def __init__(self, content: bytes | None, size: int = -1, redacted: bool = False) -> None:
        self.content = content
        self.size = size
        self.redacted = redacted

    def find_redactions(self, blobs: list[bytes]) -> dict[bytes, bytes]:
        return dict.fromkeys(blobs, BLOB) if self.redacted else {}

    def blob_size(self, blob: bytes) -> int:
        return len(self.read_blob(blob)) if self.size < 0 else self.size

    def read_blob(self, blob: bytes) -> bytes:
        if self.content is None:
            raise NotFound("it is not here")
        return self.content


def test_a_blob_past_the_limit_is_refused_unread():
    reader = OneBlob(None, size=limits.MAX_VERDICT_BYTES + 1)
    with raises_code("too_large", FormatError):
        read_verdict(reader, BLOB)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reader", "state"),
    [
        (OneBlob(encode_verdict(admission())), "kept"),
        (OneBlob(None, redacted=True), "redacted"),
        (OneBlob(None), "missing"),
        (OneBlob(b"a letter"), "foreign"),
    ],
)
def test_the_state_of_a_verdict_is_told(reader, state):
    found, verdict = read_verdict_state(reader, BLOB)  # type: ignore[arg-type]
    assert (found, verdict is not None) == (state, state == "kept")


def test_all_blobs_that_a_verdict_names_are_listed_and_none_of_another_content():
    from brain.digest import blob_id

    verdict = admission()
    found = read_verdict_blobs(OneBlob(encode_verdict(verdict)), BLOB)  # type: ignore[arg-type]
    assert found == {blob_id(PAYLOAD), blob_id(OUTPUT), *(file.blob for file in verdict.files)}
    assert NO_DIGEST not in found and all(isinstance(file, ProgramFile) for file in verdict.files)
    assert read_verdict_blobs(OneBlob(b"a letter"), BLOB) == set()  # type: ignore[arg-type]
    assert read_verdict_blobs(OneBlob(None), BLOB) == set()  # type: ignore[arg-type]
