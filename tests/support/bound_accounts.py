"""Accounts that sign statements, and their keystores."""

import json
from pathlib import Path

from brain.chain.evm.account import Account
from tests.support.secret_files import write_secret

PASSPHRASE = "open sesame"
ACCOUNT_KEY = bytes([9]) * 32


def make_account(key: bytes = ACCOUNT_KEY) -> Account:
    """Return the account of a key."""
    return Account(key)


def write_keystore(folder: Path) -> tuple[Path, Path]:
    """Write the keystore of the account, cheap to open, and the file with its passphrase."""
    from eth_account import Account as Library

    keystore, passphrase = folder / "account.json", folder / "account-passphrase"
    kept = Library.encrypt(ACCOUNT_KEY, PASSPHRASE, kdf="pbkdf2", iterations=1000)
    write_secret(keystore, json.dumps(kept))
    write_secret(passphrase, PASSPHRASE + "\n")
    return keystore, passphrase
