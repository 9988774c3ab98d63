"""`brain.receipts`: the records of the runs behind the changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..repo.part import Part, lazy, reads

if TYPE_CHECKING:
    from .. import results
    from ..receipts import Receipt
    from ..repo import read_receipts
    from ..repo.manifest import SynthesisPolicy
    from ..repo.receipts import runs
    from ..verify import receipt_verification
else:
    read_receipts = lazy("brain.repo.read_receipts")
    runs = lazy("brain.repo.receipts.runs")
    receipt_verification = lazy("brain.verify.receipt_verification")


class ReceiptsPart(Part):
    """Receipts that snapshots carry, and receipts in files. `Brain.task` records one."""

    show = reads(lambda: read_receipts.show_run)
    read = reads(lambda: read_receipts.read_receipt_bytes)
    read_run = reads(lambda: runs.read_whole_run)
    verify = reads(lambda: receipt_verification.verify_receipt)
    verify_file = reads(lambda: receipt_verification.verify_receipt_file)

    def read_synthesis_policy(self) -> SynthesisPolicy:
        """Return which runs are hard enough to make a skill of, by the manifest.

        Raises `InvalidInput` (`bad_manifest`).
        """
        from ..repo import manifest

        return self._locked.run(lambda session: manifest.load_manifest(session).synthesis)

    @staticmethod
    def show_file(data: bytes) -> results.RunInfo:
        """Return the run of a receipt file. Raises `FormatError`."""
        from ..repo.read_receipts import show_receipt_file

        return show_receipt_file(data)

    @staticmethod
    def import_transcript(data: bytes, form: str = "") -> Receipt:
        """Return a transcript of another program as a receipt; `form` names the program.

        Raises `InvalidInput`, also (`many_runs`) for a file with several runs.
        """
        from ..receipts.transcripts import read_transcript

        return read_transcript(data, form)

    @staticmethod
    def import_transcripts(data: bytes, form: str = "", run: str = "") -> list[Receipt]:
        """Return the receipt of each run in a transcript; only that of `run`, if it is set.

        `run` is an id or the beginning of just one. Raises `InvalidInput` or `NotFound`
        (`no_run`).
        """
        from ..receipts.transcripts import choose_run, read_transcripts

        receipts = read_transcripts(data, form)
        return [choose_run(receipts, run)] if run else receipts

    @staticmethod
    def read_run_file(data: bytes) -> Receipt:
        """Return the run of a file: a receipt, or a transcript of another program.

        Raises `FormatError` or `InvalidInput`.
        """
        found = _decode_if_receipt(data)
        return found or ReceiptsPart.import_transcript(data)

    @staticmethod
    def read_run_files(data: bytes) -> list[Receipt]:
        """Return all runs of a file, as `read_run_file` returns a single one."""
        found = _decode_if_receipt(data)
        return [found] if found else ReceiptsPart.import_transcripts(data)


def _decode_if_receipt(data: bytes) -> Receipt | None:
    from ..receipts import decode_receipt
    from ..receipts.receipt import RECEIPT_FORMAT

    return decode_receipt(data) if RECEIPT_FORMAT.name.encode() in data else None
