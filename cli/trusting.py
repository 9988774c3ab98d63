"""What the commands that change the trust file share: who signs it, and what they say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import click

from . import keys
from .context import App
from .output import emit
from .params import Once, TextType
from .terminal import escape
from .text import columns, count, short

if TYPE_CHECKING:
    from brain import Brain
    from brain.results import TrustChanged, Trusted, TrustedKey

Function = TypeVar("Function", bound=Callable[..., Any])


def signing_options(function: Function) -> Function:
    """Add --key and --passphrase-file to a command."""
    key = click.option(
        "--key",
        "own",
        cls=Once,
        type=TextType(),
        metavar="NAME",
        help="Your key to sign with (default: the only one).  [env: BRAIN_SIGN_KEY]",
    )
    passphrase = click.option(
        "--passphrase-file",
        cls=Once,
        type=TextType(),
        metavar="FILE",
        help="Where its passphrase is, if it has one.  [env: BRAIN_PASSPHRASE_FILE]",
    )
    return key(passphrase(function))


def change(
    app: App,
    own: str | None,
    passphrase_file: str | None,
    action: Callable[[Brain], TrustChanged],
) -> TrustChanged:
    """Change the trust file, sign the change with an own key if there is one, and say so."""
    name = keys.chosen(own)
    if name is not None:
        seed = keys.private(name, passphrase_file)
        app.sign_with = lambda: seed
    done = action(app.brain)
    emit(app, done, _lines(done))
    if done.changed and done.signature is None:
        app.note("Note: not signed; it counts once those who may have run 'brain sign'")
    return done


def _lines(done: TrustChanged) -> Iterator[str]:
    if not done.changed:
        yield "Nothing to change"
        return
    yield from rights(done.threshold, done.keys)
    yield f"Snapshot {short(done.snapshot)}{', signed' if done.signature else ''}"


def advice(trusted: Trusted, command: str, signed: Iterable[str] = ()) -> str:
    """Say who has to run a command that signs; `signed` are the keys that have signed already."""
    may = [key for key in trusted.keys if not (key.until or key.revoked)]
    missing = [key for key in may if key.key not in signed]
    more = trusted.threshold - (len(may) - len(missing))
    mine = keys.own([key.key for key in missing])
    names = ", ".join(escape(key.name) for key in missing)
    if not mine:
        return f"have {_some(more)} of {names} run `{command}`"
    rest = f", and have {_some(more - 1)} more of {names} do so" if more > 1 else ""
    return f"run `{command} --key {mine}`{rest}"


def _some(number: int) -> str:
    return "one" if number == 1 else str(number)


def rights(threshold: int, trusted: list[TrustedKey]) -> Iterator[str]:
    """Say who may sign."""
    yield f"{count(threshold, 'signature')} needed, of:"
    yield from columns((key.key, key.name, _note(key)) for key in trusted)


def _note(key: TrustedKey) -> str:
    notes = []
    if key.from_:
        notes.append(f"from {short(key.from_)}")
    if key.until:
        notes.append(f"until {short(key.until)}")
    if key.revoked:
        since = f" since {short(key.revoked.since)}" if key.revoked.since else ""
        notes.append(escape(f"revoked{since}: {key.revoked.reason}"))
    return ", ".join(notes)
