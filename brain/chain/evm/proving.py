"""Proofs of storage from nodes: checked as a stranger will check them, kept, made ready.

A proof that was made at a block which is not final yet waits in a file of its own; it is
evidence once the block is final and still there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...errors import LedgerError, ProofError
from ..evidence import build, header
from ..evidence.chained import check_chain
from ..evidence.evidence import ANCHOR, BRAIN, ChainPart, Evidence, Slot
from ..evidence.known import Known
from . import files
from .base import Base
from .nodes import View


class Proving(Base):
    """The part of an EVM ledger that has storage proven."""

    def _proven(
        self, at: View, kind: str, by: str, slots: list[bytes], about: Evidence
    ) -> dict[str, Any]:
        """Return the field `chain` of evidence: slots at a block, by the first node whose
        proof holds. Raises `LedgerError` (`bad_rpc`, `not_proven`)."""
        contract = self.config.contract

        def block(said: Any) -> str:
            if "0x" + header.decode(header.from_rpc(said)).hash.hex() != at.block.hash:
                raise LedgerError("the node tells another block", code="bad_rpc")
            return json.dumps(said)

        def part(said: Any) -> str:
            made = build.chain_part(self.config.chain_id, contract, kind, by, header_of, said)
            try:
                _check(made, about, bytes.fromhex(at.block.hash[2:]))
            except (ProofError, ValueError) as error:  # the latter: not as many slots as asked
                raise LedgerError(f"the proof does not hold: {error}", code="bad_rpc") from error
            return json.dumps(made)

        names = ["0x" + slot.hex() for slot in slots]
        header_of = json.loads(
            self._nodes.first(at, block, "eth_getBlockByHash", at.block.hash, False)
        )
        try:
            text = self._nodes.first(at, part, "eth_getProof", contract, names, at.tag)
        except LedgerError as error:
            raise not_proven(error.message) from error
        proven: dict[str, Any] = json.loads(text)
        return proven

    def _promoted(
        self, waiting: Path, place: Path, about: Evidence, final: View
    ) -> dict[str, Any] | None:
        """Return a proof that was waiting, if its block is final by now, and keep it."""
        chain = read(waiting, about)
        if chain is None:
            return None
        block = header.decode(_bytes(chain["header"]))
        if block.number > final.block.number:
            return None
        there = self._nodes.at(block.number)
        if there is None or there.block.hash != "0x" + block.hash.hex():
            return None
        files.move(waiting, place)
        return chain

    def _final(self, view: View) -> View:
        number = self._bounds(view).final
        final = self._nodes.at(number) if number >= 0 else None
        if final is None:
            raise not_final(view.block.number)
        return final

    @property
    def _evidence(self) -> Path:
        return self._folder / "evidence" / self._place_name


def read(path: Path, about: Evidence) -> dict[str, Any] | None:
    """Return evidence that was kept, None if there is none or it does not hold any more."""
    content = files.read(path)
    if content is None:
        return None
    with suppress(ValueError, TypeError, KeyError, ProofError):
        said: dict[str, Any] = json.loads(content)["chain"]
        _check(said, about, b"")
        return said
    return None


def keep(path: Path, said: Mapping[str, Any]) -> None:
    """Put evidence into a file, durable when this returns."""
    files.make_folder(path.parent)
    files.write(path, json.dumps(said, indent=1).encode() + b"\n")


def _check(said: Mapping[str, Any], about: Evidence, block_hash: bytes) -> None:
    """Check a proof as the reader of the evidence will. Raises `ProofError`."""
    kind = said["kind"]
    part = ChainPart(
        said["chain_id"],
        _bytes(said["contract"]),
        kind,
        _bytes(said["creator" if kind == BRAIN else "sender"]),
        _bytes(said["header"]),
        [_bytes(node) for node in said["account"]],
        [
            Slot(_bytes(one["slot"]), _bytes(one["value"]), [_bytes(node) for node in one["proof"]])
            for one in said["slots"]
        ],
    )
    stored = check_chain(part, about, Known(block_hash=block_hash))
    if kind == ANCHOR and stored.root != about.snapshot:
        raise ProofError("another root is anchored", code="wrong_root")


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text[2:])


def not_final(block: int) -> LedgerError:
    """Return the error for evidence that is asked for too early."""
    return LedgerError(
        f"block {block} is not final yet",
        code="not_final",
        hint="evidence is captured once it is: try again later",
    )


def not_proven(why: str) -> LedgerError:
    """Return the error for evidence that cannot be had."""
    return LedgerError(
        f"no node proves that state: {why}",
        code="not_proven",
        hint="nodes prove recent blocks: ask an archive node, or capture evidence earlier",
    )
