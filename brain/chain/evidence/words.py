"""What evidence shows, and what its reader still has to know, in words."""

from __future__ import annotations

from collections.abc import Iterator

from ...errors import printable
from ...results import Evidence, LoggedIn, StoredIn

SHORT = 12
"""Digits of an id in a sentence."""


def claim(found: Evidence) -> str:
    """Say in a sentence what is shown."""
    links = [f"snapshot {found.snapshot[:SHORT]}"]
    if found.committed != found.snapshot:
        links.append(f"an ancestor of {found.committed[:SHORT]}")
    of = f"commitment {found.seq} of brain {found.brain[:SHORT]}"
    links.append(f"{of}{_where(found.log, found.chain)}")
    if found.path is not None:
        links[0] = f"{printable(found.path, 1024)} is in {links[0]}"
    else:
        links[:2] = [" is ".join(links[:2])]
    return ", which is ".join(links)


def _where(log: LoggedIn | None, chain: StoredIn | None) -> str:
    at = f" at block {chain.block} in contract {chain.contract}" if chain else ""
    if log and chain:
        return f" in the log {printable(log.origin)}, anchored by {chain.sender}{at}"
    if log:
        return f" in the log {printable(log.origin)}"
    return f", the head{at}" if chain else ""


def missing(found: Evidence, *, owner: bool, content: bool) -> Iterator[str]:
    """Say what the reader still has to know; `owner`, `content`: whether he brought them."""
    log, chain = found.log, found.chain
    if found.path is not None and not content:
        yield "the file itself, to compare it with what is proven"
    if log and not log.known:
        yield "the public key of the log, from who runs it"
    if log and not log.witnesses and not chain:
        yield "a witness or a chain: who runs a log can show another one to others"
    if chain and found.trust_level != "L3":
        source = "" if found.trust_level == "L0" else ", from another source than its nodes"
        yield f"a hash of block {chain.block} on chain {chain.chain_id} that you trust{source}"
    if chain and not owner:
        yield (
            f"that {chain.owner} is who may speak for this brain: anybody can open it as theirs"
            if chain.owner
            else f"that {chain.sender} anchors this log: anybody can anchor another one"
        )
