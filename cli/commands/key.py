"""The commands of `brain key`: own keys, trust, root keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from brain.errors import NoBrain

from ..command import (
    READ_EXITS,
    WRITE_EXITS,
    argument,
    brain_command,
    exit_statuses,
    flag,
    option,
    repeated_option,
)
from ..context import App
from ..error_report import CONFLICT
from ..options import revision_argument, signing_options
from ..output import emit
from ..params import CountType, TextType
from ..render.human_format import align_columns, local_time
from ..settings import user_keys
from ..settings.config_file import default_signing_key
from ..terminal import escape
from ..trust_changes import change_trust, pin_and_report_roots, rights_lines

if TYPE_CHECKING:
    from brain import Brain
    from brain.results import TrustChanged, Trusted


@brain_command(
    "new",
    examples=("brain key new", "brain key new work --passphrase"),
    exits=exit_statuses(CONFLICT),
)
@argument("name", metavar="[NAME]", required=False, type=TextType("bad_name"))
@flag("--passphrase", help="Ask for a passphrase to encrypt the key.")
@option(
    "--passphrase-file",
    metavar="FILE",
    help="Encrypt the key with the first line of FILE.  [env: BRAIN_PASSPHRASE_FILE]",
)
def key_new_command(
    app: App, name: str | None, passphrase: bool, passphrase_file: str | None
) -> None:
    """Create a key.

    The private key is stored in a file that only you can read, with your settings or in
    the folder BRAIN_KEYS, never in a brain. NAME is 'default' if it is left out. Prints
    the public key, for others to trust with 'brain key trust'.
    """
    from brain.trust import keyfile
    from brain.trust.ed25519 import format_key

    word = user_keys.read_passphrase(passphrase_file)
    if passphrase and not word:
        word = user_keys.ask_passphrase("Passphrase", user_keys.PASSPHRASE_FILE_HINT, twice=True)
    here = user_keys.keys_folder()
    made = keyfile.create_key(here, name or user_keys.DEFAULT_KEY_NAME, word)
    public = format_key(made.key)
    path = str(here / f"{made.name}{keyfile.KEY_FILE_SUFFIX}")
    document = {"name": made.name, "key": public, "encrypted": made.encrypted, "path": path}
    emit(app, document, [public])
    app.print_note(f"Key {made.name} is in {escape(path)}")


@brain_command("list", examples=("brain key list", "brain key list @~3", "brain key list --json"))
@revision_argument
def key_list_command(app: App, rev: str | None) -> None:
    """List your keys, and those that may sign this brain.

    Reads the trust file of the snapshot REV, by default the head. Outside of a brain your
    keys are listed alone.
    """
    from brain.trust import keyfile
    from brain.trust.ed25519 import format_key
    from brain.util.utc_time import utc_time

    signing = default_signing_key()
    own = [
        {
            "name": key.name,
            "key": format_key(key.key),
            "encrypted": key.encrypted,
            "time": utc_time(key.created),
            "signs": signing in (key.name, format_key(key.key)),
        }
        for key in keyfile.list_keys(user_keys.keys_folder())
    ]
    try:
        trusted = app.brain.trust.show(rev or "@")
    except NoBrain:
        if rev is not None or app.directory is not None:
            raise
        trusted = None
    emit(app, {"keys": own, "trusted": trusted}, _key_lines(own, trusted))


def _key_lines(own: list[dict[str, Any]], trusted: Trusted | None) -> Iterator[str]:
    words = {"encrypted": "with passphrase", "signs": "signs new snapshots"}
    yield from align_columns(
        (
            *(key["name"], key["key"], local_time(key["time"])),
            ", ".join(text for name, text in words.items() if key[name]),
        )
        for key in own
    )
    if trusted is None:
        return
    if own:
        yield ""
    if not trusted.keys:
        yield "No trust file: snapshots of this brain need no signature"
        return
    yield from rights_lines(trusted.threshold, trusted.keys)
    for key in trusted.former:
        yield f"Before: {key.key}  {escape(key.name)}"


@brain_command(
    "trust",
    examples=(
        "brain key trust default --as auditor",
        "brain key trust ed25519:3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"
        " --as ada",
        "brain key trust --threshold 2",
    ),
    exits=WRITE_EXITS,
)
@argument("key", metavar="[KEY]", required=False, type=TextType("bad_key"))
@option("--as", "name", metavar="NAME", help="The name of the key in the trust file.")
@option(
    "--threshold",
    type=CountType(),
    metavar="N",
    help="How many keys must sign each snapshot, from the next one on.",
)
@signing_options
def key_trust_command(
    app: App,
    key: str | None,
    name: str | None,
    threshold: int | None,
    own: str | None,
    passphrase_file: str | None,
) -> None:
    """Let a key sign this brain, or set how many keys must.

    KEY is 'ed25519:' and 64 hex digits, or the name of one of your keys. The first key
    creates trust.json; from then on every snapshot needs signatures of trusted keys; 'brain
    sign' adds one. The change is recorded as a snapshot that your key signs. The key that signs
    the first one is pinned as root key, if none is pinned yet: see 'brain key roots'.
    """
    if (key is None) != (name is None):
        raise click.UsageError("KEY and --as require each other.")
    if key is None and threshold is None:
        raise click.UsageError("Give KEY and --as, or --threshold.")
    if threshold == 0:
        raise click.UsageError("--threshold must be 1 or more.")
    if key is None:
        change_trust(
            app, own, passphrase_file, lambda brain: brain.trust.set_threshold(threshold or 0)
        )
        return
    public = user_keys.resolve_public_key(key)
    result = change_trust(
        app,
        own,
        passphrase_file,
        lambda brain: brain.trust.add(public, name or "", threshold or 0),
    )
    if result.signature and len(result.keys) == 1:
        pin_and_report_roots(
            app, app.brain, [one.key for one in app.brain.signatures.list(result.snapshot)]
        )


@brain_command(
    "revoke",
    examples=(
        'brain key revoke laptop --reason "lost on a train" --key default',
        'brain key revoke laptop --reason "stolen" --since @~3 --key default',
        "brain key revoke old --keep-signatures --key new",
    ),
    exits=WRITE_EXITS,
)
@argument("key", type=TextType("bad_key"))
@option("--reason", metavar="TEXT", help="The reason, for people.")
@option(
    "--since", metavar="REV", help="The first snapshot whose signature is invalid (default: all)."
)
@flag("--keep-signatures", help="What it signed before stays valid; it signs no more.")
@signing_options
def key_revoke_command(
    app: App,
    key: str,
    reason: str | None,
    since: str | None,
    keep_signatures: bool,
    own: str | None,
    passphrase_file: str | None,
) -> None:
    """Revoke a key; its signatures become invalid.

    Verification then fails for snapshots that the key signed since REV, until enough
    other trusted keys sign them. To replace a key, trust the new one and revoke the old one
    with --keep-signatures, which removes it from the trust file. KEY is 'ed25519:' and 64 hex
    digits, its name in the trust file, or the name of one of your keys.
    """
    if keep_signatures and (reason or since):
        raise click.UsageError("--keep-signatures takes neither --reason nor --since.")
    if not keep_signatures and not reason:
        raise click.UsageError("Give the --reason, or --keep-signatures.")

    def revoke(brain: Brain) -> TrustChanged:
        public = user_keys.resolve_brain_key(key, brain.trust.show())
        if keep_signatures:
            return brain.trust.retire(public)
        return brain.trust.revoke(public, reason or "", since or "")

    change_trust(app, own, passphrase_file, revoke)


@brain_command(
    "roots",
    examples=(
        "brain key roots",
        "brain key roots --add ed25519:"
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "brain key roots --remove laptop --json",
    ),
    exits=READ_EXITS,
)
@repeated_option(
    "--add",
    type=TextType("bad_key"),
    metavar="KEY",
    help="Pin a key that you know from another source; repeatable.",
)
@repeated_option(
    "--remove", type=TextType("bad_key"), metavar="KEY", help="Unpin a key; repeatable."
)
def key_roots_command(app: App, add: tuple[str, ...], remove: tuple[str, ...]) -> None:
    """Show or change the root keys pinned for this brain.

    All pinned keys must have signed the first trust file. They are stored in your
    settings, or in the file BRAIN_ROOTS; 'brain verify', 'brain prompt' and the servers
    for agents require them. KEY is as for 'brain key trust'; of a key that is pinned, its name
    in the trust file will do.
    """
    path = user_keys.roots_path()
    if add or remove:
        found = app.brain.trust.change_roots(
            path,
            add=[user_keys.resolve_root_key(key, lambda: app.brain) for key in add],
            remove=[user_keys.resolve_brain_key(key, app.brain.trust.show()) for key in remove],
        )
    else:
        found = app.brain.trust.list_roots(path)
    document = {"brain": app.brain.id, "roots": found, "path": str(path)}
    emit(app, document, found or ["No root key is pinned for this brain"])


@brain_command(
    "repair", examples=("brain key repair", "brain key repair --key laptop"), exits=WRITE_EXITS
)
@signing_options
def key_repair_command(app: App, own: str | None, passphrase_file: str | None) -> None:
    """Restore the last valid trust file.

    While trust.json is invalid, the keys of the last valid one must sign. The repair is
    recorded as a snapshot that your key signs; 'brain verify' then only warns of the
    invalid file.
    """
    change_trust(app, own, passphrase_file, lambda brain: brain.trust.repair())
