"""Lineages with trust files and signatures, in memory."""

from collections.abc import Collection, Iterable, Iterator

from brain.digest import blob_id
from brain.errors import NotFound
from brain.objects import lineage
from brain.objects.operation import genesis_operation
from brain.objects.snapshot import SNAPSHOT_FORMAT, Jump, Snapshot, encode_snapshot, snapshot_id
from brain.results import Finding
from brain.trust import ed25519, rights
from brain.trust.rights import (
    RightsGraph,
    RightsSource,
    SignatureRow,
    SignatureVerdict,
    SignersBySnapshot,
    verify_in_background,
)
from brain.trust.trust_file import KeyRevocation, Policy, PolicyKey, render_policy
from brain.verify.signature_check import EquivocationPair, SiblingGroups

KEY_SEEDS = [bytes([number]) * 32 for number in range(1, 7)]
PUBLIC_KEYS = [ed25519.public_key(seed) for seed in KEY_SEEDS]
NO_TRUST_FILE = b""
"""A brain without a trust file."""


def trust_file_text(
    *keys: int, threshold: int = 1, **fields: dict[int, bytes | KeyRevocation]
) -> bytes:
    """Return a trust file of the keys with these numbers; `begin={2: id}` and so on say more."""
    return render_policy(
        Policy(
            threshold,
            tuple(
                PolicyKey(
                    f"key {number}",
                    PUBLIC_KEYS[number],
                    **{name: of[number] for name, of in fields.items() if number in of},  # type: ignore[arg-type]
                )
                for number in keys
            ),
        )
    )


def verify_signatures(
    brain: bytes,
    head: bytes,
    source: RightsSource,
    signatures: Iterable[SignatureRow],
    roots: frozenset[bytes] = frozenset(),
) -> Iterator[SignatureVerdict]:
    """Take all steps of `trust.rights`; yield a verdict on each snapshot."""
    with verify_in_background(brain, signatures) as finish:
        graph = RightsGraph(source, head).read_ancestors()
        signers = finish()
    return rights.judge_lineage(graph, signers, roots)


def find_equivocations(
    load: lineage.LoadSnapshot,
    walk: Iterable[tuple[bytes, Snapshot]],
    signers: SignersBySnapshot,
    merged_snapshots: Collection[bytes] = (),
) -> Iterator[EquivocationPair]:
    """Yield the equivocations in a walk, children before parents."""
    groups = SiblingGroups()
    for here, snapshot in walk:
        groups.add_snapshot(here, snapshot)
    yield from groups.find_equivocations(load, signers, merged_snapshots)


class SignedLineage:
    """Snapshots by id, numbered as they were added; number 0 is the genesis."""

    def __init__(self, trust: bytes = NO_TRUST_FILE, by: Iterable[int] = ()) -> None:
        self.known: dict[bytes, Snapshot] = {}
        self.ids: list[bytes] = []
        self.rows: list[tuple[bytes, bytes, bytes]] = []
        self.files: dict[bytes, bytes] = {}
        first = Snapshot(
            SNAPSHOT_FORMAT,
            b"",
            b"",
            (),
            0,
            Jump(0, b""),
            "",
            0,
            genesis_operation(bytes(16)),
            "",
            b"",
        )
        self._store(first, trust, by)

    @property
    def brain(self) -> bytes:
        return self.ids[0]

    @property
    def head(self) -> bytes:
        return self.ids[-1]

    def load(self, here: bytes) -> Snapshot:
        if here not in self.known:
            raise NotFound("a snapshot", code="missing_object")
        return self.known[here]

    def trust_file(self, number: int) -> bytes:
        """Return the trust file of a snapshot."""
        return self.files[self.known[self.ids[number]].bundle]

    def add(
        self, *parents: int, by: Iterable[int] = (), trust: bytes | None = None, author: str = ""
    ) -> int:
        """Add a snapshot signed by some keys; it has the trust file of its first parent."""
        ids = tuple(self.ids[number] for number in parents or [-1])
        above = [self.known[parent] for parent in ids]
        jump = lineage.next_jump(self.load, ids[0], above[0])
        place = (SNAPSHOT_FORMAT, self.brain, b"", ids, lineage.next_generation(above), jump)
        done = ("graft",) if len(ids) > 1 else ("snapshot",)
        made = Snapshot(*place, author, len(self.ids), done, "", b"")
        return self._store(made, self.files[above[0].bundle] if trust is None else trust, by)

    def _store(self, made: Snapshot, trust: bytes, by: Iterable[int]) -> int:
        bundle = blob_id(b"a bundle with " + trust)
        self.files[bundle] = trust
        made = made._replace(bundle=bundle)
        here = snapshot_id(encode_snapshot(made))
        self.known[here] = made
        self.ids.append(here)
        self.sign(len(self.ids) - 1, *by)
        return len(self.ids) - 1

    def sign(self, number: int, *by: int) -> None:
        """Add signatures of some keys."""
        here = self.ids[number]
        for key in by:
            self.rows.append((here, *ed25519.sign_snapshot(KEY_SEEDS[key], here, self.known[here])))

    def source(self) -> RightsSource:
        blobs = {blob_id(content): content for content in self.files.values()}

        def locate(made: Snapshot) -> bytes:
            content = self.files[made.bundle]
            return blob_id(content) if content else b""

        return RightsSource(self.load, locate, blobs.__getitem__)

    def verdicts(self, head: bytes = b"", roots: Iterable[int] = ()) -> list[SignatureVerdict]:
        pinned = frozenset(PUBLIC_KEYS[number] for number in roots)
        return list(
            verify_signatures(self.brain, head or self.head, self.source(), self.rows, pinned)
        )

    def finding_codes(self, roots: Iterable[int] = ()) -> list[tuple[int, str, str]]:
        """Return what is found: number of the snapshot, code, severity."""
        return self.number_findings(rights.collect_findings(self.verdicts(roots=roots)))

    def number_findings(self, found: Iterable[Finding]) -> list[tuple[int, str, str]]:
        return [
            (self.ids.index(bytes.fromhex(one.snapshot)), one.code, one.severity) for one in found
        ]

    def standings(self, roots: Iterable[int] = ()) -> dict[int, str]:
        return {self.ids.index(one.snapshot): one.standing for one in self.verdicts(roots=roots)}
