"""Settings of a ledger on a chain: put together, checked, and told without what is secret."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from brain.errors import InvalidInput

from .terminal import escape
from .text import count

KEYSTORE = "keystore"
"""The one setting that is not the ledger's, but of who sends."""
_ANY_CHAIN = {"chain_id": 1, "genesis": "0x" + "0" * 64}
_DIGITS = re.compile(r"[0-9]{1,40}", re.ASCII)


def merged(name: str, before: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with what is given changed, and what pins the chain filled in.

    Raises `InvalidInput` (`bad_ledger`, `wrong_chain`) or `LedgerError`.
    """
    from brain.chain.evm.config import parse, to_mapping

    changed = {key: value for key, value in given.items() if value not in (None, ())}
    if "rpc" in changed:
        changed["rpc"] = list(changed["rpc"])
    for key in ("finality", "max_cost_wei"):
        if _DIGITS.fullmatch(str(changed.get(key, ""))):
            changed[key] = int(changed[key])
    if KEYSTORE in changed:
        changed[KEYSTORE] = os.path.abspath(os.path.expanduser(changed[KEYSTORE]))
    fields, keystore = parted(name, {**before, **changed})
    _pin(name, fields)
    kept = to_mapping(parse(name, fields))
    return {**kept, KEYSTORE: keystore} if keystore else kept


def parted(name: str, settings: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Return what is the ledger's of settings, and the file of the key that sends, or "".

    Raises `InvalidInput` (`bad_ledger`).
    """
    fields = dict(settings)
    keystore = fields.pop(KEYSTORE, "")
    if not isinstance(keystore, str) or "\0" in keystore:
        raise InvalidInput(
            f"the ledger {name}: {KEYSTORE} is not the name of a file",
            code="bad_ledger",
            hint=f"name it with `brain config ledger {name} --keystore FILE`",
        )
    return fields, keystore


def _pin(name: str, fields: dict[str, Any]) -> None:
    """Fill in chain id and genesis: of a known chain, else as its nodes say.

    Whatever else is wrong with the settings is said before a node is asked.
    """
    from brain.chain.evm.config import parse
    from brain.chain.networks import NETWORKS

    if name in NETWORKS:
        fields.setdefault("chain_id", NETWORKS[name].chain_id)
        fields.setdefault("genesis", NETWORKS[name].genesis)
    wanted = parse(name, {**_ANY_CHAIN, **fields})
    if "chain_id" in fields and "genesis" in fields:
        return
    from brain.chain.evm.pinning import pinned

    found = dict(zip(_ANY_CHAIN, pinned(wanted.urls), strict=True))
    for key, value in found.items():
        if fields.setdefault(key, value) != value:
            raise InvalidInput(
                f"the nodes are of another chain: its {key} is {value}",
                code="wrong_chain",
                hint="name nodes of one chain, or leave out what pins it",
            )


def described(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what may be shown of settings."""
    from brain.chain.evm.config import host, parse

    fields, keystore = parted(name, settings)
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
        "keystore": keystore or None,
    }


def lines(told: Mapping[str, Any]) -> Iterator[str]:
    """Say what a ledger is."""
    from .prices import ether

    nodes = ", ".join(told["nodes"])
    contract = told["contract"] or "none yet: `brain chain deploy`"
    yield escape(f"{told['ledger']}: chain {told['chain_id']}, contract {contract}")
    final = told["finality"]
    if isinstance(final, int):
        final = f"what has {count(final, 'block')} on top"
    yield escape(f"  nodes {nodes}; {told['quorum']} must agree; final is {final}")
    yield f"  at most {told['max_fee'] / 10**9:g} gwei a gas, {ether(told['max_cost'])} a call"
