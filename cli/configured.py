"""Settings of a ledger on a chain: put together, checked, and told without what is secret."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from .terminal import escape

KEYSTORE = "keystore"
"""The one setting that is not the ledger's, but of who sends."""


def merged(name: str, before: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with what is given changed, and what pins the chain filled in.

    Raises `InvalidInput` (`bad_ledger`, `wrong_chain`) or `LedgerError`.
    """
    from brain.chain.evm.config import parse, to_mapping

    changed = {key: value for key, value in given.items() if value not in (None, ())}
    if "rpc" in changed:
        changed["rpc"] = list(changed["rpc"])
    for key in ("finality", "max_cost_wei"):
        if str(changed.get(key, "")).isdigit():
            changed[key] = int(changed[key])
    if KEYSTORE in changed:
        changed[KEYSTORE] = os.path.abspath(os.path.expanduser(changed[KEYSTORE]))
    fields = {**before, **changed}
    keystore = fields.pop(KEYSTORE, None)
    _pin(name, fields)
    kept = to_mapping(parse(name, fields))
    return {**kept, KEYSTORE: keystore} if keystore else kept


def _pin(name: str, fields: dict[str, Any]) -> None:
    """Fill in chain id and genesis: of a known chain, else as its nodes say."""
    from brain.chain.networks import NETWORKS

    if name in NETWORKS:
        fields.setdefault("chain_id", NETWORKS[name].chain_id)
        fields.setdefault("genesis", NETWORKS[name].genesis)
    if "rpc" in fields and not ("chain_id" in fields and "genesis" in fields):
        from brain.chain.evm.pinning import pinned

        chain_id, genesis = pinned(fields["rpc"])
        fields.setdefault("chain_id", chain_id)
        fields.setdefault("genesis", genesis)


def described(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what may be shown of settings."""
    from brain.chain.evm.config import host, parse

    fields = dict(settings)
    keystore = fields.pop(KEYSTORE, None)
    config = parse(name, fields)
    return {
        "ledger": name,
        "identity": config.identity,
        "chain_id": config.chain_id,
        "genesis": config.genesis,
        "contract": config.contract or None,
        "creator": config.creator or None,
        "nodes": [host(url) for url in config.urls],
        "quorum": config.quorum,
        "finality": config.finality,
        "max_fee": config.max_fee,
        "max_cost": config.max_cost,
        "keystore": keystore,
    }


def lines(told: Mapping[str, Any]) -> Iterator[str]:
    """Say what a ledger is."""
    from .prices import ether

    nodes = ", ".join(told["nodes"])
    contract = told["contract"] or "none yet: `brain chain deploy`"
    yield escape(f"{told['ledger']}: chain {told['chain_id']}, contract {contract}")
    yield escape(f"  nodes {nodes}; {told['quorum']} must agree; final is {told['finality']}")
    yield f"  at most {told['max_fee'] / 10**9:g} gwei a gas, {ether(told['max_cost'])} a call"
