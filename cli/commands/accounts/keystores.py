"""The commands of `brain chain account`: accounts that send to chains, in keystore files."""

from __future__ import annotations

import os

from brain.errors import Conflict

from ...command import argument, brain_command, exit_statuses, option
from ...context import App
from ...error_report import CONFLICT
from ...output import emit
from ...params import TextType
from ...settings import ledger_senders
from ...terminal import escape


@brain_command(
    "new",
    examples=(
        "brain chain account new ~/keys/sepolia.json",
        "brain chain account new ~/keys/sepolia.json --passphrase-file ~/keys/passphrase",
    ),
    exits=exit_statuses(CONFLICT),
)
@argument("file", type=TextType("bad_path"))
@option(
    "--passphrase-file",
    metavar="FILE",
    help="Encrypt the key with the first line of FILE.  [env: BRAIN_LEDGER_PASSPHRASE_FILE]",
)
def chain_account_new_command(app: App, file: str, passphrase_file: str | None) -> None:
    """Make an account for chains, in a keystore file.

    FILE is a keystore of version 3 (scrypt), which wallets import too. Only you can read
    it, and no file is overwritten. Without its passphrase the account is lost, with all
    brains that it owns: keep copies of both, apart from each other and outside of brains.
    Prints the address, which needs coins of the chain before it can send. Then run
    'brain config ledger.NAME.keystore FILE'.
    """
    from brain.chain.evm import account
    from brain.util.files import write_atomic

    path = os.path.abspath(os.path.expanduser(file))
    if os.path.lexists(path):
        raise _exists_error(path)
    os.stat(os.path.dirname(path))  # a missing folder is named before the passphrase is asked
    passphrase = ledger_senders.read_account_passphrase(path, passphrase_file, twice=True)
    made = account.create_account(passphrase)
    try:
        write_atomic(path, made.keystore, replace=False)
    except FileExistsError as error:
        raise _exists_error(path) from error
    emit(app, {"account": made.address, "keystore": path}, [made.address])
    app.print_note(f"Its keystore is {escape(path)}")


def _exists_error(path: str) -> Conflict:
    return Conflict(
        f"{path} exists already",
        code="exists",
        hint="choose another name; keystores are never overwritten",
    )
