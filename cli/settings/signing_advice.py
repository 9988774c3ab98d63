"""Who must sign a snapshot, as the hint of an error or as a note."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..render.human_format import short_id
from ..terminal import escape
from . import user_keys

if TYPE_CHECKING:
    from brain import Brain
    from brain.results import Trusted


def unverifiable_note(brain: Brain, snapshot: str) -> str:
    """Return the note on a new snapshot that too few trusted keys have signed."""
    trusted = brain.trust.show(snapshot)
    signed = [one.key for one in brain.signatures.list(snapshot)]
    advice = signing_advice(trusted, "brain sign", signed)
    own = user_keys.find_own_key([key.key for key in trusted.keys])
    more = f"; `brain config sign {own}` signs every new one" if own and not signed else ""
    return (
        f"snapshot {short_id(snapshot)} lacks the signature of a trusted key and"
        f" does not verify: {advice}{more}"
    )


def signing_advice(trusted: Trusted, command: str, signed: Iterable[str] = ()) -> str:
    """Return which keys must sign with `command`; `signed` are the keys that already did."""
    may = [key for key in trusted.keys if not (key.until or key.revoked)]
    missing = [key for key in may if key.key not in signed]
    more = trusted.threshold - (len(may) - len(missing))
    own = user_keys.find_own_key([key.key for key in missing])
    names = ", ".join(escape(key.name) for key in missing)
    if not own:
        return f"ask {_count_word(more)} of {names} to run `{command}`"
    rest = f", and ask {_count_word(more - 1)} more of {names} to do so" if more > 1 else ""
    return f"run `{command} --key {own}`{rest}"


def _count_word(number: int) -> str:
    return "one" if number == 1 else str(number)
