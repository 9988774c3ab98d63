"""`brain.trust` and `brain.signatures`: who may sign, pinned root keys, and signatures."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from ..repo.part import Part, lazy, reads

if TYPE_CHECKING:
    from ..repo.signing import account_bindings, missing_signatures, sign, trust_edits
    from ..verify import signature_check
else:
    account_bindings = lazy("brain.repo.signing.account_bindings")
    missing_signatures = lazy("brain.repo.signing.missing_signatures")
    sign = lazy("brain.repo.signing.sign")
    trust_edits = lazy("brain.repo.signing.trust_edits")
    signature_check = lazy("brain.verify.signature_check")


class TrustPart(Part):
    """Keys with the right to sign. A key is `ed25519:` and 64 hex digits."""

    show = reads(lambda: trust_edits.read_trust)
    add = reads(lambda: trust_edits.trust_key)
    retire = reads(lambda: trust_edits.retire_key)
    revoke = reads(lambda: trust_edits.revoke_key)
    set_threshold = reads(lambda: trust_edits.set_threshold)
    repair = reads(lambda: trust_edits.repair_trust)
    find_equivocations = reads(lambda: signature_check.list_equivocations)
    bind_account = reads(lambda: account_bindings.bind_account)
    write_statement = reads(lambda: account_bindings.write_statement)
    bind_signed_account = reads(lambda: account_bindings.bind_signed_account)
    unbind_account = reads(lambda: account_bindings.unbind_account)
    list_accounts = reads(lambda: account_bindings.list_bound_accounts)

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


class SignaturesPart(Part):
    """Ed25519 signatures of snapshots. `brain.trust.keyfile` creates and stores keys."""

    sign = reads(lambda: sign.sign_revision)
    sign_missing = reads(lambda: missing_signatures.sign_missing)
    find_missing = reads(lambda: missing_signatures.find_unsigned)
    find_unverifiable = reads(lambda: missing_signatures.find_unverifiable)
    list = reads(lambda: sign.list_signatures)
