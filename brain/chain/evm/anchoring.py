"""Anchors: the root of a log in the contract, for thousands of brains at once.

An account has one root at a time, and the next one takes its place; so the proof of a
root is prepared when it is anchored, and is evidence once its block is final.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from ...errors import BrainError, NotFound
from ..evidence import registry
from ..evidence.evidence import ANCHOR, Entry, Evidence
from . import abi, wire
from .base import Sent
from .fees import Quote
from .nodes import View
from .proving import Proving, keep, not_final, read


class Anchoring(Proving):
    """The part of an EVM ledger about roots of logs."""

    def anchor(self, root: bytes, size: int) -> Sent:
        """Anchor the root of a log of this account, 32 bytes, over `size` entries."""
        sent = self._transact("anchor", abi.anchor(root, size))
        if sent.block is not None:
            self._prepare_anchor(root)
        return sent

    def quote_anchor(self, root: bytes, size: int) -> Quote:
        """Return what `anchor` would cost, and send nothing."""
        return self._quote(abi.anchor(root, size))

    def anchored(self, sender: str) -> bytes:
        """Return the last root that an account anchored, 32 zero bytes if it never did."""
        view = self._view()
        self._registry.check_code(view)
        return self._registry.anchored(view, abi.address(sender))

    def anchor_evidence(self, root: bytes, sender: str = "") -> dict[str, Any]:
        """Return the field `chain` of evidence that an account anchored the root of a log.

        `sender` is this account if it is not named. `anchor` prepares the proof where it
        can. Raises as `evidence` does.
        """
        by = sender.lower() or self._sender_address()
        path = self._evidence / f"{by}-{root.hex()}.json"
        about = _about(root)
        return read(path, about) or self._captured_anchor(path, by, root)

    def _captured_anchor(self, path: Path, by: str, root: bytes) -> dict[str, Any]:
        view, about = self._view(), _about(root)
        final = self._final(view)
        ready = self._promoted(self._waiting(by, root), path, about, final)
        if ready is not None:
            return ready
        slot = registry.anchor_slot(bytes.fromhex(by[2:]))
        if self._word(final, slot) != root:
            self._refuse_early(view, slot, root)
        proven = self._proven(final, ANCHOR, by, [slot], about)
        keep(path, {"chain": proven})
        return proven

    def _prepare_anchor(self, root: bytes) -> None:
        """Have a proof of a root that was anchored now, if it can be had."""
        by = self._sender_address()
        slot = registry.anchor_slot(bytes.fromhex(by[2:]))
        with suppress(BrainError):
            chain = self._proven(self._view(), ANCHOR, by, [slot], _about(root))
            keep(self._waiting(by, root), {"chain": chain})

    def _waiting(self, by: str, root: bytes) -> Path:
        return self._evidence / "prepared" / f"{by}-{root.hex()}.json"

    def _word(self, view: View, slot: bytes) -> bytes:
        """Return what the contract, which need not be there, holds in a slot."""

        def read(said: Any) -> bytes:
            return wire.word(said, "word of storage")

        name = "0x" + slot.hex()
        asked = ("eth_getStorageAt", self.config.contract, name, view.tag)
        return self._nodes.agreed(view, read, *asked)

    def _refuse_early(self, view: View, slot: bytes, root: bytes) -> NoReturn:
        """Raise for a root that is not in final state: it may be in the latest."""
        if self._word(view, slot) == root:
            raise not_final(view.block.number)
        raise NotFound(f"{self.name} holds no such root", code="not_committed")


def _about(root: bytes) -> Evidence:
    return Evidence(bytes(32), root, None, None, Entry(root, None, 1), None, None)
