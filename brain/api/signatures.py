"""`brain.signatures`: sign snapshots and list their signatures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..repo.part import Part

if TYPE_CHECKING:
    import builtins

    from .. import results


class SignaturesPart(Part):
    """Ed25519 signatures of snapshots. `brain.trust.keyfile` creates and stores keys."""

    def sign(self, rev: str = "@", *, key: bytes) -> results.Signature:
        """Sign a snapshot, and with it its ancestors. `key` is a private key of 32 bytes."""
        from ..repo.signing import sign

        return self._locked.run(sign.sign_revision, rev, key)

    def sign_missing(self, rev: str = "@", *, key: bytes) -> builtins.list[results.Signature]:
        """Sign a snapshot and its ancestors where they lack a signature that this key may give.

        These are the snapshots with fewer signatures than the threshold, and those that name
        the key as author; without a trust file there are none. All in one transaction.
        """
        from ..repo.signing import missing_signatures

        return self._locked.run(missing_signatures.sign_missing, rev, key)

    def find_missing(self, rev: str = "@") -> builtins.list[str]:
        """Return the ids of a snapshot and its ancestors that lack signatures."""
        from ..repo.signing import missing_signatures

        return self._locked.run(missing_signatures.find_unsigned, rev)

    def find_unverifiable(self) -> str | None:
        """Return the id of the snapshot that this brain recorded last, if it does not verify.

        It does not if trusted keys must sign it and too few have; None otherwise.
        """
        from ..repo.signing import unverifiable

        return self._locked.run(unverifiable.find_unverifiable)

    def list(self, rev: str = "@") -> builtins.list[results.Signature]:
        """Return the signatures of a snapshot, unverified; `Brain.verify` checks them."""
        from ..repo.signing import sign

        return self._locked.run(sign.list_signatures, rev)
