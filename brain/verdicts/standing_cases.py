"""The cases that stand in a state, beside those that a gate tried."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import islice

from ..digest import NO_DIGEST
from ..errors import BrainError
from ..gating.case_files import MAX_CASE_BYTES, MAX_CASES
from ..gating.case_paths import slug_of_case
from ..gating.held_out import hash_input, is_held_out_hash
from ..objects.bundle import State
from ..objects.tree_node import LINK, TreeEntry
from ..receipts import Receipt
from ..receipts.receipt import own_sources
from ..store.reader import StoreReader
from .verdict import Verdict


class StandingCases:
    """Reads documents of cases; remembers the hashes of their inputs."""

    def __init__(self, reader: StoreReader) -> None:
        self._reader = reader
        self._input_hashes: dict[tuple[str, bytes], bytes | None] = {}

    def is_held_out(self, path: str, document: bytes) -> bool | None:
        """Tell whether a document is a case that is held out; None if it is not stored."""
        found = self.hash_input(path, document)
        return found if found is None else found != NO_DIGEST and is_held_out_hash(found)

    def hash_input(self, path: str, document: bytes) -> bytes | None:
        """Return the hash of the input of a case.

        None if its document is not stored, `NO_DIGEST` if that holds no case.
        """
        place = path, document  # whether it is a case depends on the name of its file too
        if place not in self._input_hashes:
            self._input_hashes[place] = self._hash_input(path, document)
        return self._input_hashes[place]

    def _hash_input(self, path: str, document: bytes) -> bytes | None:
        from ..gating.case_files import parse_case  # which loads YAML

        reader = self._reader
        if reader.find_missing([document]):
            return None
        if reader.blob_size(document) > MAX_CASE_BYTES:
            return NO_DIGEST
        content = reader.read_blob(document)
        try:
            return hash_input(parse_case(slug_of_case(path), path, document, content).input)
        except BrainError:
            return NO_DIGEST

    def find_left_out(
        self,
        verdict: Verdict,
        state: State,
        read_receipt: Callable[[], Receipt | None],
        tried_earlier: Collection[bytes] = (),
    ) -> Iterator[str]:
        """Yield the paths of held-out cases that come before a tried one, and were not tried.

        Cases are tried in the order of their documents' ids, which nobody chooses. Those that were
        made of the run that the change was learned from, by its receipt, are not tried, nor is an
        input again, or a path, that a document `tried_earlier` had.
        """
        own: set[str] | None = None
        held_out = [case for case in verdict.gate_cases if case.kind == "held_out"]
        tried = {case.document for case in held_out}
        if not tried.difference(tried_earlier):
            return
        last = max(tried.difference(tried_earlier))
        earlier = [case for case in held_out if case.document in tried_earlier]
        names = {case.name for case in earlier}
        again = {self.hash_input(case.name, case.document) for case in earlier}
        for entry in islice(self._list_cases(verdict, state), MAX_CASES):
            if (
                entry.blob < last
                and entry.blob not in tried
                and entry.path not in names
                and self.is_held_out(entry.path, entry.blob)
                and self.hash_input(entry.path, entry.blob) not in again
            ):
                if own is None:
                    receipt = read_receipt()
                    own = own_sources(receipt) if receipt else set()
                if self._read_source(entry) not in own:
                    yield entry.path

    def _read_source(self, entry: TreeEntry) -> str:
        from ..gating.case_files import read_case_origin  # which loads YAML

        origin = read_case_origin(self._reader.read_blob(entry.blob, entry.size))
        return origin.source if origin else ""

    def _list_cases(self, verdict: Verdict, state: State) -> Iterator[TreeEntry]:
        """Yield the documents of cases of the same skill, in the folders of those tried."""
        folders = {
            case.name.rpartition("/")[0] for case in verdict.gate_cases if case.kind == "held_out"
        }
        for folder in sorted(folders):
            for entry in state.walk_below(folder):
                if entry.kind != LINK and slug_of_case(entry.path) == verdict.skill:
                    yield entry
