"""Change the trust file, sign the change, pin root keys, and print rights."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING

from brain.errors import BrainError

from .context import App
from .output import emit
from .render.human_format import align_columns, pluralize, short_id
from .settings import user_keys
from .terminal import escape

if TYPE_CHECKING:
    from brain import Brain
    from brain.results import TrustChanged, TrustedKey


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
    file, named = user_keys.roots_path(), ", ".join(sorted(keys))
    try:
        result = brain.trust.pin_first_roots(file, keys)
    except BrainError as error:
        app.print_note(f"Note: {named} could not be pinned in {escape(str(file))}: {error.message}")
        return
    if result:
        app.print_note(f"Pinned for this brain as root, in {escape(str(file))}: {named}")
