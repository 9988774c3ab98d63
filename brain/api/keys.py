"""Who signs snapshots, and who may."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .opened import Opened

if TYPE_CHECKING:
    from .. import results


class Keys(Opened):
    """Signatures and the trust file. A key is `ed25519:` and 64 hex digits."""

    def sign(self, rev: str = "@", *, key: bytes) -> results.Signature:
        """Sign a snapshot, and so all before it, with a private key of 32 bytes.

        `brain.trust.keyfile` makes such keys and keeps them.
        """
        from ..repo.signing import sign

        return self._do(sign.sign_revision, rev, key)

    def sign_all(self, rev: str = "@", *, key: bytes) -> list[results.Signature]:
        """Sign, of a snapshot and all before it, what lacks a signature that this key may give.

        That is where fewer than needed have signed, and where the key is named as author;
        nothing, then, without a trust file. All in one transaction.
        """
        from ..repo.signing import missing_signatures

        return self._do(missing_signatures.sign_missing, rev, key)

    def unsigned(self, rev: str = "@") -> list[str]:
        """Return the snapshots that too few have signed, of a snapshot and all before it."""
        from ..repo.signing import missing_signatures

        return self._do(missing_signatures.find_unsigned, rev)

    def signatures(self, rev: str = "@") -> list[results.Signature]:
        """Return the signatures of a snapshot, unchecked; `verify` checks them."""
        from ..repo.signing import sign

        return self._do(sign.list_signatures, rev)

    def trusted(self, rev: str = "@") -> results.Trusted:
        """Return who may sign what comes after a snapshot. Raises `InvalidInput` (`bad_trust`)."""
        from ..repo.signing import trust_edits

        return self._do(trust_edits.read_trust, rev)

    def trust_key(self, key: str, name: str) -> results.TrustChanged:
        """Let a key sign; the first one makes the trust file.

        Open the brain with `sign_with`, or sign afterwards: the change counts once enough
        of those who had rights before have signed it. Raises `InvalidInput` (`bad_key`,
        `bad_trust`, `revoked_key`).
        """
        from ..repo.signing import trust_edits

        return self._do(trust_edits.trust_key, key, name)

    def end_key(self, key: str, until: str = "@") -> results.TrustChanged:
        """End the rights of a key with a snapshot; what it signed before stays good.

        Raises `InvalidInput` (`bad_key`, `bad_trust`) or `NotFound` (`no_trust`).
        """
        from ..repo.signing import trust_edits

        return self._do(trust_edits.retire_key, key, until)

    def revoke_key(self, key: str, reason: str, since: str = "") -> results.TrustChanged:
        """Let no signature of a key count from a snapshot on, or ever. Raises as `end_key`."""
        from ..repo.signing import trust_edits

        return self._do(trust_edits.revoke_key, key, reason, since)

    def set_threshold(self, threshold: int) -> results.TrustChanged:
        """Say how many keys have to sign. Raises as `end_key`."""
        from ..repo.signing import trust_edits

        return self._do(trust_edits.set_threshold, threshold)

    def repair_trust(self) -> results.TrustChanged:
        """Put the last good trust file back where the present one is broken.

        Those whom it entitles sign that; `verify` then tells the broken one as a warning.
        Raises `NotFound` (`no_trust`) if no good one came before.
        """
        from ..repo.signing import trust_edits

        return self._do(trust_edits.repair_trust)

    def equivocations(self) -> list[results.Equivocation]:
        """Return where one key signed two continuations of one snapshot, on all branches."""
        from ..verify import signature_check

        return self._do(signature_check.list_equivocations)
