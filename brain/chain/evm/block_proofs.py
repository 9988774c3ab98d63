"""Asks nodes for a proof of the contract's storage at a block.

The proof ends at the hash of the block, so the first node whose proof holds is enough.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ...errors import LedgerError, ProofError
from ..evidence import evidence_builder, state_proof
from .evm_config import EvmLedgerConfig
from .node_quorum import NodeQuorum, QuorumView


class ProofRequest(NamedTuple):
    """Slots of the contract to prove; `kind` and `address` as in `build_chain_part`."""

    kind: str
    address: str
    slots: Sequence[bytes]


class BlockProofs:
    """Proofs of the storage of one contract."""

    def __init__(self, config: EvmLedgerConfig, nodes: NodeQuorum) -> None:
        self._config = config
        self._nodes = nodes

    def prove(
        self, view: QuorumView, request: ProofRequest, check: Callable[[Mapping[str, Any]], object]
    ) -> dict[str, Any]:
        """Return the field `chain` of evidence at the block of a view, once `check` accepts it.

        `check` raises `ProofError` for a proof that does not hold. Raises `LedgerError`
        (`bad_rpc`, `not_proven`).
        """
        nodes, config = self._nodes, self._config
        block_hash = view.block.hash

        def read_block(fields: Any) -> str:
            header = state_proof.decode_block_header(state_proof.encode_rpc_header(fields))
            if "0x" + header.hash.hex() != block_hash:
                raise LedgerError(
                    "the node returned another block than asked for",
                    code="bad_rpc",
                    hint=state_proof.OTHER_NODE_HINT,
                )
            return json.dumps(fields)

        def read_proof(fields: Any) -> str:
            chain_fields = evidence_builder.build_chain_part(
                config.chain_id,
                config.contract,
                request.kind,
                request.address,
                block_fields,
                fields,
            )
            try:
                check(chain_fields)
            except ProofError as error:
                raise LedgerError(
                    f"the node's proof of storage does not hold: {error}",
                    code="bad_rpc",
                    hint=state_proof.OTHER_NODE_HINT,
                ) from error
            return json.dumps(chain_fields)

        block_fields = json.loads(
            nodes.ask_first(view, read_block, "eth_getBlockByHash", block_hash, False)
        )
        names = ["0x" + slot.hex() for slot in request.slots]
        try:
            text = nodes.ask_first(
                view, read_proof, "eth_getProof", config.contract, names, view.tag
            )
        except LedgerError as error:
            raise not_proven_error(error.message) from error
        proven: dict[str, Any] = json.loads(text)
        return proven


def not_proven_error(reason: str) -> LedgerError:
    """Return the error for a state that no node proves."""
    return LedgerError(
        f"no node proves the state of the contract: {reason}",
        code="not_proven",
        hint="use an archive node, or capture evidence earlier: most nodes prove recent blocks",
    )
