"""Signed notes (C2SP signed-note), the checkpoints of a log in them (C2SP tlog-checkpoint), the
entries of a log, and the verification of a checkpoint and of what it covers.

Notes are untrusted: their size is limited, and they are parsed strictly. Signatures by unknown
keys are ignored, as the specification requires.
"""

from __future__ import annotations

import re
from binascii import a2b_base64, b2a_base64
from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

from ...encoding import pack, unpack
from ...errors import FormatError, InvalidInput, ProofError, printable_text
from ...trust import ed25519
from ..ledger_protocol import NO_PARENT
from .merkle import EMPTY_ROOT, HASH_BYTES, is_consistent, is_included, leaf_hash


def encode_base64(data: bytes) -> str:
    """Return `data` in base64."""
    return b2a_base64(data, newline=False).decode("ascii")


def decode_base64(text: str) -> bytes | None:
    """Return the bytes of canonical base64, None for any other text."""
    if not text.isascii():
        return None
    try:
        data = a2b_base64(text, strict_mode=True)
    except ValueError:
        return None
    return data if encode_base64(data) == text else None


ALGORITHM_ED25519 = 1
"""The algorithm byte of the signatures of logs."""
ALGORITHM_COSIGNATURE = 4
"""The algorithm byte of the timestamped cosignatures of witnesses."""
KEY_ID_BYTES = 4

_KEY_NAME = re.compile(r"[^\s+\x00-\x1f\x7f]{1,256}")
_KEY_ID_HEX = re.compile(r"[0-9a-f]{8}", re.ASCII)


class VerifierKey(NamedTuple):
    """A named public key; `algorithm` is `ALGORITHM_ED25519` or `ALGORITHM_COSIGNATURE`."""

    name: str
    algorithm: int
    key: bytes

    @property
    def id(self) -> bytes:
        """The four bytes that identify the key, with its name, in a signature line."""
        head = self.name.encode() + b"\n" + bytes([self.algorithm])
        return sha256(head + self.key).digest()[:KEY_ID_BYTES]

    def __str__(self) -> str:
        return f"{self.name}+{self.id.hex()}+{encode_base64(bytes([self.algorithm]) + self.key)}"


def is_key_name(name: str) -> bool:
    """Return whether a text is a valid name: not empty, without spaces, controls and `+`."""
    return _KEY_NAME.fullmatch(name) is not None


def parse_verifier_key(text: str) -> VerifierKey:
    """Return the key in a text such as `example.com/log+530d903a+AekyeR…`.

    Raises `InvalidInput` (`bad_key`).
    """
    name, _, rest = text.partition("+")
    stated, _, tail = rest.partition("+")
    data = decode_base64(tail)
    if (
        is_key_name(name)
        and data
        and data[0] in (ALGORITHM_ED25519, ALGORITHM_COSIGNATURE)
        and _KEY_ID_HEX.fullmatch(stated)
    ):
        key = VerifierKey(name, data[0], data[1:])
        if ed25519.is_usable_key(key.key) and key.id.hex() == stated:
            return key
    raise InvalidInput(
        f'"{printable_text(text, 120)}" is not a verifier key',
        code="bad_key",
        hint="it is NAME+ID+KEY, as in the C2SP signed-note format, of an Ed25519 key of a log"
        " or a witness",
    )


CHECKPOINT_HINT = "it was cut off or changed: do not rely on it, and ask for it again"
"""The hint for a checkpoint that is malformed or whose signatures do not fit."""
MAX_NOTE_BYTES = 256 << 10
"""Bytes of a note at most; 16 signatures of the longest known kind take half of it."""
MAX_NOTE_SIGNATURES = 100

_SIGNATURE_PREFIX = "— "
_FORBIDDEN_CHARS = re.compile("[\x00-\x09\x0b-\x1f\ud800-\udfff]")
"""Control characters other than line feeds, and lone surrogates."""


class SignatureLine(NamedTuple):
    """A signature line: the name and id of a key, and the signature."""

    name: str
    id: bytes
    signature: bytes

    def __str__(self) -> str:
        return f"{_SIGNATURE_PREFIX}{self.name} {encode_base64(self.id + self.signature)}\n"


class SignedNote(NamedTuple):
    """A parsed note; `text` ends in a line feed, `lines` are not verified."""

    text: str
    lines: tuple[SignatureLine, ...]

    def __str__(self) -> str:
        return self.text + "\n" + "".join(map(str, self.lines))

    def find_signature(self, key: VerifierKey) -> SignatureLine | None:
        """Return the first signature line of a key, valid or not."""
        named = key.name, key.id
        return next((line for line in self.lines if line[:2] == named), None)


def parse_note(data: str) -> SignedNote:
    """Return the note in a text. Raises `ProofError` (`bad_note`, `too_large`)."""
    if len(data) > MAX_NOTE_BYTES or len(data.encode("utf-8", "replace")) > MAX_NOTE_BYTES:
        raise ProofError(
            f"the checkpoint has {len(data)} characters, too many for {MAX_NOTE_BYTES} bytes",
            code="too_large",
            hint=CHECKPOINT_HINT,
        )
    head, gap, tail = data.rpartition("\n\n")
    if not gap or not tail.endswith("\n") or _FORBIDDEN_CHARS.search(data):
        raise ProofError(
            "the checkpoint is not a signed note: text, an empty line, and lines of signatures",
            code="bad_note",
            hint=CHECKPOINT_HINT,
        )
    lines = tail[:-1].split("\n")
    if len(lines) > MAX_NOTE_SIGNATURES:
        raise ProofError(
            f"the checkpoint has {len(lines)} signatures, more than {MAX_NOTE_SIGNATURES}",
            code="too_large",
            hint=CHECKPOINT_HINT,
        )
    return SignedNote(head + "\n", tuple(map(_parse_signature_line, lines)))


def _parse_signature_line(text: str) -> SignatureLine:
    name, _, tail = text.removeprefix(_SIGNATURE_PREFIX).partition(" ")
    data = decode_base64(tail)
    if (
        not text.startswith(_SIGNATURE_PREFIX)
        or not is_key_name(name)
        or not data
        or len(data) <= KEY_ID_BYTES
    ):
        raise ProofError(
            f'the line "{printable_text(text, 80)}" of the checkpoint is not a signature',
            code="bad_note",
            hint=CHECKPOINT_HINT,
        )
    return SignatureLine(name, data[:KEY_ID_BYTES], data[KEY_ID_BYTES:])


def verify_note(note: SignedNote, key: VerifierKey) -> None:
    """Check that a log's key signed a note.

    Raises `ProofError`: `unsigned` if no line names the key, `bad_signature` if it is wrong.
    """
    line = note.find_signature(key)
    if line is None:
        raise ProofError(
            f"the checkpoint is not signed by the key of {key.name}",
            code="unsigned",
            hint="compare the key of the log with the one you know, or ask for it again",
        )
    if not ed25519.verify_signature(key.key, note.text.encode(), line.signature):
        raise ProofError(
            f"the signature of {key.name} on the checkpoint is invalid",
            code="bad_signature",
            hint=CHECKPOINT_HINT,
        )


MAX_LOG_SIZE = (1 << 63) - 1
"""Leaves in a log at most."""

_DECIMAL = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)


class Checkpoint(NamedTuple):
    """A state of the log `origin`: `size` entries under `root`."""

    origin: str
    size: int
    root: bytes

    @property
    def text(self) -> str:
        """The signed text."""
        return f"{self.origin}\n{self.size}\n{encode_base64(self.root)}\n"


def parse_checkpoint(text: str) -> Checkpoint:
    """Return the checkpoint in the text of a note; extension lines are ignored.

    Raises `ProofError` (`bad_checkpoint`).
    """
    lines = text.removesuffix("\n").split("\n")
    if len(lines) >= 3 and all(lines) and _DECIMAL.fullmatch(lines[1]):
        origin, size, root = lines[0], int(lines[1]), decode_base64(lines[2])
        if (
            size <= MAX_LOG_SIZE
            and root
            and len(root) == HASH_BYTES
            and (size or root == EMPTY_ROOT)
        ):
            return Checkpoint(origin, size, root)
    raise ProofError(
        "the checkpoint is malformed: it is not an origin, a size and a root on three lines",
        code="bad_checkpoint",
        hint=CHECKPOINT_HINT,
    )


MAX_COSIGNATURE_TIME = (1 << 63) - 1
_TIME_BYTES = 8
_COSIGNATURE_BYTES = _TIME_BYTES + ed25519.SIGNATURE_SIZE


class Cosignature(NamedTuple):
    """A witness of a checkpoint; `time` of signing in seconds since 1970, UTC."""

    key: VerifierKey
    time: int


def verify_cosignature(note: SignedNote, key: VerifierKey) -> Cosignature | None:
    """Return the cosignature of a witness on a note, None if no line names its key.

    Raises `ProofError` (`bad_signature`) if it is not valid.
    """
    line = note.find_signature(key)
    if line is None:
        return None
    time = int.from_bytes(line.signature[:_TIME_BYTES], "big")
    if (
        len(line.signature) == _COSIGNATURE_BYTES
        and time <= MAX_COSIGNATURE_TIME
        and ed25519.verify_signature(
            key.key, _cosigned_message(note.text, time), line.signature[_TIME_BYTES:]
        )
    ):
        return Cosignature(key, time)
    raise ProofError(
        f"the cosignature of the witness {key.name} on the checkpoint is invalid",
        code="bad_signature",
        hint=CHECKPOINT_HINT,
    )


def _cosigned_message(text: str, time: int) -> bytes:
    return f"cosignature/v1\ntime {time}\n{text}".encode()


ENTRY_FORMAT = 1
MAX_ENTRY_BYTES = 122
"""Bytes of the longest entry."""
MAX_SEQ = (1 << 63) - 1
MAX_TIME_MS = 253_402_300_799_999
"""The last millisecond of the year 9999, UTC, as in snapshots."""

_HINT = "run `brain verify --ledger local` to check the whole log"
_ID_BYTES = 32


class LogLeaf(NamedTuple):
    """The commitment `seq` of a brain: `snapshot` after `parent`, at `time` in ms UTC."""

    brain: bytes
    seq: int
    snapshot: bytes
    parent: bytes
    time: int


def encode_entry(entry: tuple[bytes, int, bytes, bytes, int]) -> bytes:
    """Return the data of the leaf of an entry, from the fields of `LogLeaf`."""
    return pack((ENTRY_FORMAT, *entry))


def decode_entry(data: bytes) -> LogLeaf:
    """Return the entry in the data of a leaf.

    Raises `FormatError`: `bad_entry`, and the codes of `encoding.unpack`.
    """
    if len(data) > MAX_ENTRY_BYTES:
        raise FormatError(
            f"the entry of the log has {len(data)} bytes, more than {MAX_ENTRY_BYTES}",
            code="too_large",
            hint=_HINT,
        )
    fields = unpack(data)
    if type(fields) is not tuple or [type(field) for field in fields] != _FIELD_TYPES:
        raise FormatError(
            "the entry of the log does not have the fields of an entry",
            code="bad_entry",
            hint=_HINT,
        )
    form, entry = fields[0], LogLeaf(*fields[1:])
    if form != ENTRY_FORMAT or not _is_valid(entry):
        raise FormatError(
            "a field of the entry of the log is out of range", code="bad_entry", hint=_HINT
        )
    return entry


_FIELD_TYPES = [int, bytes, int, bytes, bytes, int]


def _is_valid(entry: LogLeaf) -> bool:
    ids = entry.brain, entry.snapshot, entry.parent
    return (
        all(len(id) == _ID_BYTES for id in ids)
        and entry.snapshot != NO_PARENT
        and (entry.parent == NO_PARENT) == (entry.seq == 1)
        and 1 <= entry.seq <= MAX_SEQ
        and entry.time <= MAX_TIME_MS
    )


class VerifiedCheckpoint(NamedTuple):
    """A checkpoint with a valid signature, its signed text, and the witnesses that cosigned it."""

    checkpoint: Checkpoint
    text: str
    witnesses: tuple[Cosignature, ...]


class VerifiedEntry(NamedTuple):
    """An entry of the log at an index, under a checkpoint with a valid signature."""

    entry: LogLeaf
    leaf_index: int
    checkpoint: Checkpoint
    checkpoint_text: str
    witnesses: tuple[Cosignature, ...]


def verify_checkpoint(text: str, key: str, witnesses: Sequence[str] = ()) -> VerifiedCheckpoint:
    """Return a checkpoint that `key` signed, and those of `witnesses` that cosigned it.

    Keys are verifier keys; the name of the log's key has to be the origin. Raises `ProofError`:
    `bad_key`, `too_large`, `bad_note`, `bad_checkpoint`, `unsigned`, `wrong_origin`,
    `bad_signature`.
    """
    signer = _parse_key_of_kind(key, ALGORITHM_ED25519)
    cosigners = [_parse_key_of_kind(witness, ALGORITHM_COSIGNATURE) for witness in witnesses]
    parsed_note = parse_note(text)
    state = parse_checkpoint(parsed_note.text)
    if state.origin != signer.name:
        raise ProofError(
            f"the checkpoint is of the log {state.origin}, not of {signer.name}",
            code="wrong_origin",
            hint="compare the key of the log with the one you know",
        )
    verify_note(parsed_note, signer)
    cosignatures = [
        verify_cosignature(parsed_note, witness_key) for witness_key in dict.fromkeys(cosigners)
    ]
    return VerifiedCheckpoint(state, parsed_note.text, tuple(filter(None, cosignatures)))


def verify_inclusion(
    text: str,
    key: str,
    index: int,
    data: bytes,
    path: Sequence[bytes],
    witnesses: Sequence[str] = (),
) -> VerifiedEntry:
    """Return the entry in `data`, which the checkpoint has to hold at `index`.

    Raises `ProofError`: as `verify_checkpoint`, `bad_entry`, or `not_included`.
    """
    try:
        entry = decode_entry(data)
    except FormatError as error:
        raise ProofError(error.message, code="bad_entry", hint=CHECKPOINT_HINT) from error
    state, signed_text, cosigners = verify_checkpoint(text, key, witnesses)
    if not is_included(state.root, state.size, index, leaf_hash(data), path):
        raise ProofError(
            f"the checkpoint does not hold the entry at the index {index}",
            code="not_included",
            hint="it was changed, or made wrongly: do not rely on it, and ask for it again",
        )
    return VerifiedEntry(entry, index, state, signed_text, cosigners)


def verify_consistency(
    old: str, new: str, key: str, path: Sequence[bytes], witnesses: Sequence[str] = ()
) -> tuple[VerifiedCheckpoint, VerifiedCheckpoint]:
    """Return two checkpoints of one log, of which the second has to extend the first.

    Raises `ProofError`: as `verify_checkpoint`; `log_forked` if the log signed two roots of
    one size, which proves that it lied; `not_consistent` if the path does not fit.
    """
    first, second = (verify_checkpoint(text, key, witnesses) for text in (old, new))
    before, after = first.checkpoint, second.checkpoint
    if before.size == after.size and before.root != after.root:
        raise ProofError(
            f"the log signed two different roots of its first {before.size} entries",
            code="log_forked",
            hint="keep both checkpoints: they prove that the log shows two histories",
        )
    if not is_consistent(before.size, before.root, after.size, after.root, path):
        raise ProofError(
            f"the path does not lead from the checkpoint of {before.size} entries to that of"
            f" {after.size}",
            code="not_consistent",
            hint="ask the log for the path again; if none leads there, the log was forked",
        )
    return first, second


def _parse_key_of_kind(text: str, kind: int) -> VerifierKey:
    try:
        key = parse_verifier_key(text)
    except InvalidInput as error:
        raise ProofError(error.message, code="bad_key", hint=error.hint) from error
    if key.algorithm != kind:
        raise ProofError(
            f"the key of {key.name} is of another kind than needed: logs and witnesses sign"
            " with different ones",
            code="bad_key",
            hint="name keys of logs as log keys, and keys of witnesses as witnesses",
        )
    return key
