"""All verdicts of a store on its blobs, read again."""

from brain.store.checks import check_blobs
from brain.store.reader import StoreReader
from brain.store.rows import BlobCheckResult, BlobPredicate


def match_no_blob(blob: bytes, content: bytes) -> bool:
    """Pick no blob out."""
    return False


def check_all_blobs(store: StoreReader, look: BlobPredicate = match_no_blob) -> BlobCheckResult:
    """Return the verdicts on all blobs at once."""
    whole = BlobCheckResult([], [], [])
    with check_blobs(store, look) as parts:
        for part in parts:
            whole.sizes.extend(part.sizes)
            whole.faults.extend(part.faults)
            whole.selected.extend(part.selected)
    return whole
