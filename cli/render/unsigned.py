"""Transactions for wallets elsewhere, written to a file."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from ..chosen_ledger import resolve_ledger_name
from ..output import emit_file
from ..terminal import escape

if TYPE_CHECKING:
    from brain.chain.evm.signing.signer_protocol import TransactionToSign
    from brain.chain.evm.signing.unsigned import UnsignedForm

    from ..context import App


def emit_unsigned(
    app: App, wanted: TransactionToSign, form: UnsignedForm, ledger: str | None, output: str | None
) -> None:
    """Write the transaction that a wallet elsewhere is to sign to a file, or to stdout."""
    from brain.chain.evm.signing import unsigned

    sender, transaction = wanted.sender, wanted.transaction

    def read_safe_nonce(safe: str) -> int:
        return app.open_evm_ledger(resolve_ledger_name(app, ledger)).presigned.read_safe_nonce(safe)

    context = unsigned.UnsignedContext(time.time_ns() // 10**6, read_safe_nonce)
    document = unsigned.build_unsigned_document(form, sender, transaction, context)
    description = unsigned.describe_transaction(sender, transaction)
    found = {
        "sender": sender,
        "chain_id": transaction.chain_id,
        "nonce": transaction.nonce,
        "description": description,
        "format": form,
    }
    action, _, arguments = description.partition(": ")
    lines = [
        f"To be signed by {sender}, in {output}: {action}",
        *filter(None, arguments.split(", ")),
    ]
    data = json.dumps(document, indent=2).encode() + b"\n"
    note = "\n  ".join(map(escape, lines))
    emit_file(app, found, "unsigned", data, output, note)
