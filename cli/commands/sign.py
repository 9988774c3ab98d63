"""The command sign: sign snapshots with a key of the user."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ..command import OVERWRITE_EXITS, brain_command, flag
from ..context import App
from ..options import no_record_option, revision_argument, signing_options
from ..output import emit
from ..render.human_format import short_id
from ..settings import user_keys

if TYPE_CHECKING:
    from brain.results import Signature


class SignedDocument(NamedTuple):
    """The new signatures, oldest snapshot first."""

    signatures: list[Signature]


@brain_command(
    "sign",
    examples=("brain sign", "brain sign @~1 --key work", "brain sign --all --key work"),
    exits=OVERWRITE_EXITS,
)
@revision_argument
@flag("--all", "every", help="Sign REV and its ancestors that lack signatures.")
@signing_options
@no_record_option
def sign_command(
    app: App, rev: str | None, every: bool, own: str | None, passphrase_file: str | None
) -> None:
    """Sign snapshots.

    With one of your keys. REV is by default the head. --all signs every snapshot of the lineage
    that has fewer signatures than the trust file requires, if your key may sign it; review
    'brain log' first. With BRAIN_SIGN_KEY or 'brain config sign', every new snapshot is signed
    when it is recorded.
    """
    seed = user_keys.load_private_key(user_keys.require_signing_key(own), passphrase_file)
    app.sign_with = lambda: seed
    app.record_edits(rev=rev)
    if every:
        result = SignedDocument(app.brain.signatures.sign_missing(rev or "@", key=seed))
        emit(app, result, _signature_lines(result.signatures))
    else:
        made = app.brain.signatures.sign(rev or "@", key=seed)
        emit(app, made, _signature_lines([made]))


def _signature_lines(made: list[Signature]) -> Iterator[str]:
    for one in made:
        yield f"{short_id(one.snapshot)} signed by {one.key}"
    if not made:
        yield "No snapshot lacks a signature of this key"
