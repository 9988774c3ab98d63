"""Change the trust file, sign the change, pin root keys, and print rights."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from brain.errors import BrainError

from .context import App
from .output import emit
from .render.human_format import align_columns, pluralize, short_id
from .settings import user_keys, user_roots
from .terminal import escape

if TYPE_CHECKING:
    from brain import Brain
    from brain.results import TrustChanged, Trusted, TrustedKey


def change_trust(
    app: App,
    own: str | None,
    passphrase_file: str | None,
    action: Callable[[Brain], TrustChanged],
) -> TrustChanged:
    """Change the trust file, sign the change if the user has a key, and print the result."""
    name = user_keys.choose_signing_key(own)
    if name is not None:
        seed = user_keys.load_private_key(name, passphrase_file)
        app.sign_with = lambda: seed
    result = action(app.brain)
    emit(app, result, _trust_change_lines(result))
    if result.changed and result.signature is None:
        app.print_note(
            "Note: not signed; it takes effect once trusted keys have signed it with 'brain sign'"
        )
    return result


def _trust_change_lines(result: TrustChanged) -> Iterator[str]:
    if not result.changed:
        yield "Nothing to change"
        return
    yield from rights_lines(result.threshold, result.keys)
    yield f"Snapshot {short_id(result.snapshot)}{', signed' if result.signature else ''}"


def unverifiable_note(brain: Brain, snapshot: str) -> str:
    """Return the note on a new snapshot that too few trusted keys have signed."""
    trusted = brain.trust.show(snapshot)
    signed = [one.key for one in brain.signatures.list(snapshot)]
    advice = signing_advice(trusted, "brain sign", signed)
    own = user_keys.find_own_key([key.key for key in trusted.keys])
    more = f"; `brain config sign {own}` signs every new one" if own and not signed else ""
    return (
        f"Warning: snapshot {short_id(snapshot)} lacks the signature of a trusted key and"
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


def rights_lines(threshold: int, trusted: list[TrustedKey]) -> Iterator[str]:
    """Describe which keys may sign."""
    yield f"{pluralize(threshold, 'signature')} required, of:"
    yield from align_columns((key.key, key.name, _rights_note(key)) for key in trusted)


def _rights_note(key: TrustedKey) -> str:
    notes = []
    if key.from_:
        notes.append(f"from {short_id(key.from_)}")
    if key.until:
        notes.append(f"until {short_id(key.until)}")
    if key.revoked:
        since = f" since {short_id(key.revoked.since)}" if key.revoked.since else ""
        notes.append(escape(f"revoked{since}: {key.revoked.reason}"))
    return ", ".join(notes)


def pin_and_report_roots(app: App, brain: Brain, keys: Collection[str]) -> None:
    """Pin the first root keys of a brain, unless some are pinned already; print the result.

    A file of root keys that cannot be read or written is reported, not raised.
    """
    file, named = user_roots.roots_path(), ", ".join(sorted(keys))
    try:
        result = brain.trust.pin_first_roots(file, keys)
    except BrainError as error:
        app.print_note(f"Note: {named} could not be pinned in {escape(str(file))}: {error.message}")
        return
    if result:
        app.print_note(f"Pinned for this brain as root, in {escape(str(file))}: {named}")
