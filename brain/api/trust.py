"""`brain.trust`: the trust file, which says who may sign, and pinned root keys."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..repo.part import Part

if TYPE_CHECKING:
    from .. import results
    from ..repo.signing.account_bindings import SigningAccount


class TrustPart(Part):
    """Keys with the right to sign. A key is `ed25519:` and 64 hex digits."""

    def show(self, rev: str = "@") -> results.Trusted:
        """Return who may sign the snapshots after a revision.

        Raises `InvalidInput` (`bad_trust`).
        """
        from ..repo.signing import trust_edits

        return self._locked.run(trust_edits.read_trust, rev)

    def add(self, key: str, name: str) -> results.TrustChanged:
        """Trust a key under a name; the first key creates the trust file.

        The change counts once enough keys with earlier rights have signed it: open the brain
        with `sign_with`, or sign afterwards. Raises `InvalidInput` (`bad_key`, `bad_trust`,
        `revoked_key`).
        """
        from ..repo.signing import trust_edits

        return self._locked.run(trust_edits.trust_key, key, name)

    def retire(self, key: str, until: str = "@") -> results.TrustChanged:
        """End the rights of a key with a snapshot; its earlier signatures stay valid.

        Raises `InvalidInput` (`bad_key`, `bad_trust`) or `NotFound` (`no_trust`).
        """
        from ..repo.signing import trust_edits

        return self._locked.run(trust_edits.retire_key, key, until)

    def revoke(self, key: str, reason: str, since: str = "") -> results.TrustChanged:
        """Reject all signatures of a key, or those from snapshot `since` on. Raises as `retire`."""
        from ..repo.signing import trust_edits

        return self._locked.run(trust_edits.revoke_key, key, reason, since)

    def set_threshold(self, threshold: int) -> results.TrustChanged:
        """Set how many trusted keys must sign a snapshot. Raises as `retire`."""
        from ..repo.signing import trust_edits

        return self._locked.run(trust_edits.set_threshold, threshold)

    def repair(self) -> results.TrustChanged:
        """Replace a malformed trust file by the last valid one.

        The keys of the valid file sign that; `verify` then reports the malformed one as a
        warning. Raises `NotFound` (`no_trust`) if there was no valid one before.
        """
        from ..repo.signing import trust_edits

        return self._locked.run(trust_edits.repair_trust)

    def find_equivocations(self) -> list[results.Equivocation]:
        """Return where one key signed two continuations of one snapshot, on any branch."""
        from ..verify import signature_check

        return self._locked.run(signature_check.list_equivocations)

    def bind_account(
        self, seed: bytes, account: SigningAccount, expires: int = 0
    ) -> results.AccountBound:
        """Record a statement, signed by both, that a key and an account act for one party.

        `seed` is the private key, `account` a `brain.chain.evm.Account`, `expires` in s since
        1970 (UTC), 0 for never. Raises `InvalidInput` (`bad_accounts`, `bad_expiry`).
        """
        from ..repo.signing import account_bindings

        return self._locked.run(account_bindings.bind_account, seed, account, expires)

    def write_statement(
        self, key: bytes, account: bytes, *, chain_id: int = 0, expires: int = 0
    ) -> dict[str, Any]:
        """Return the statement about a key and an account, 20 bytes, for a wallet to sign.

        It is EIP-712 typed data; `chain_id` is 0, or that of a wallet contract. Raises
        `InvalidInput` (`bad_expiry`).
        """
        from ..repo.signing import account_bindings

        write = partial(account_bindings.write_statement, chain_id=chain_id, expires=expires)
        return self._locked.run(write, key, account)

    def bind_signed_account(
        self, seed: bytes, typed_data: bytes, signature: bytes
    ) -> results.AccountBound:
        """Record the JSON text of `write_statement` with the signature of the account.

        Raises `InvalidInput` (`bad_statement`, `bad_signature`, `bad_accounts`).
        """
        from ..repo.signing import account_bindings

        return self._locked.run(account_bindings.bind_signed_account, seed, typed_data, signature)

    def unbind_account(self, account: bytes) -> results.AccountUnbound:
        """Remove all statements about an account, 20 bytes.

        Raises `NotFound` (`not_bound`), `InvalidInput` (`bad_accounts`).
        """
        from ..repo.signing import account_bindings

        return self._locked.run(account_bindings.unbind_account, account)

    def list_accounts(self, rev: str = "@") -> list[results.BoundAccount]:
        """Return the accounts bound to keys in a revision, with the standing of each statement.

        Raises `InvalidInput` (`bad_accounts`).
        """
        from ..repo.signing import account_bindings

        return self._locked.run(account_bindings.list_bound_accounts, rev)

    # Root keys that the user pinned, in a file for all brains

    def list_roots(self, path: Path) -> list[str]:
        """Return the root keys that the file `path` pins for this brain.

        Raises `InvalidInput` (`bad_roots`).
        """
        from ..trust.pinned_roots import load_pinned_roots

        return self._locked.run(lambda session: load_pinned_roots(path, session.brain_id().hex()))

    def pin_first_roots(self, path: Path, keys: Collection[str]) -> bool:
        """Pin root keys if the file has none for this brain; return whether they were pinned."""
        from ..trust.pinned_roots import pin_first_roots

        return self._locked.run(
            lambda session: pin_first_roots(path, session.brain_id().hex(), keys)
        )

    def change_roots(
        self, path: Path, *, add: Collection[str] = (), remove: Collection[str] = ()
    ) -> list[str]:
        """Pin and unpin root keys of this brain; return those that are then pinned.

        Raises `InvalidInput` (`bad_key`, `bad_roots`, `not_pinned`).
        """
        from ..trust.pinned_roots import change_pinned_roots

        return self._locked.run(
            lambda session: change_pinned_roots(path, session.brain_id().hex(), add, remove)
        )
