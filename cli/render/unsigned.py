"""Transactions for wallets elsewhere, written to a file."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from ..output import emit_file
from ..terminal import escape

if TYPE_CHECKING:
    from brain.chain.evm.signing.signer_protocol import TransactionToSign
    from brain.chain.evm.signing.unsigned import UnsignedForm

    from ..context import App


def emit_unsigned(app: App, wanted: TransactionToSign, form: UnsignedForm, name: str) -> None:
    """Write the transaction that a wallet elsewhere is to sign to a file; "-" is stdout."""
    from brain.chain.evm.signing import unsigned

    sender, transaction = wanted.sender, wanted.transaction
    document = unsigned.build_unsigned_document(form, sender, transaction, time.time_ns() // 10**6)
    description = unsigned.describe_transaction(sender, transaction)
    found = {
        "sender": sender,
        "chain_id": transaction.chain_id,
        "nonce": transaction.nonce,
        "description": description,
        "format": form,
    }
    output = None if name == "-" else name
    action, _, arguments = description.partition(": ")
    lines = [f"To be signed by {sender}, in {name}: {action}", *filter(None, arguments.split(", "))]
    data = json.dumps(document, indent=2).encode() + b"\n"
    note = "\n  ".join(map(escape, lines))
    emit_file(app, found, "unsigned", data, output, note)
