"""An open brain and its parts, each imported at its first use."""

from __future__ import annotations

from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ..repo.part import LockedSession, Part, Written

if TYPE_CHECKING:
    from types import TracebackType

    from ..repo.ledgers.commit_policy import OpenLedger
    from ..repo.session import Session
    from .branches import BranchesPart, MergePart, ProposalsPart, TagsPart
    from .files import FilesPart, MemoryPart, PromptPart
    from .gaps import GapsPart
    from .gate import GatePart
    from .history import HistoryPart, ImportsPart, ProofsPart, SecretsPart
    from .ledger import LedgerPart
    from .patterns import PatternsPart
    from .programs import ProgramsPart
    from .receipts import ReceiptsPart
    from .skills import SkillsPart
    from .trust import SignaturesPart, TrustPart


_CLOSE_SECONDS = 60.0
"""How long a brain that is closed waits for what its runs leave; a server may hang."""


class _LazyPart:
    """Imports the part of its name at the first use: `skills` is `skills.SkillsPart`.

    `module` names another module that has it.

    On an open brain it is the part, on the class the class of the part, whose static methods
    need no brain: `Brain.receipts.show_file(data)`.
    """

    def __init__(self, module: str = "") -> None:
        self._module = module

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, brain: Any, owner: type) -> Any:
        module = import_module(f".{self._module or self._name}", __package__)
        kind = getattr(module, f"{self._name.capitalize()}Part")
        if brain is None:
            return kind
        part = kind(brain._locked)
        brain.__dict__[self._name] = part
        return part


def _lazy_part(module: str = "") -> Any:
    return _LazyPart(module)


class BrainParts(Part):
    """An open brain: its parts, its identity, and the end of its use."""

    skills: SkillsPart = _lazy_part()
    """Write, read, compare and select skills."""
    programs: ProgramsPart = _lazy_part()
    """Try, admit, run and retire the programs of skills."""
    gate: GatePart = _lazy_part()
    """Cases of skills, and changes that were tried on them."""
    memory: MemoryPart = _lazy_part("files")
    """Read and change the entries of memory files."""
    files: FilesPart = _lazy_part()
    """Read and change recorded files."""
    history: HistoryPart = _lazy_part()
    """Snapshots, differences, and the operation log."""
    branches: BranchesPart = _lazy_part()
    """List, create, delete and switch branches."""
    tags: TagsPart = _lazy_part("branches")
    """Names of snapshots that never move."""
    merge: MergePart = _lazy_part("branches")
    """Merge a revision, and resolve conflicts."""
    ledger: LedgerPart = _lazy_part()
    """Commitments in ledgers, and evidence of them."""
    trust: TrustPart = _lazy_part()
    """The trust file, and pinned root keys."""
    signatures: SignaturesPart = _lazy_part("trust")
    """Sign snapshots, and list signatures."""
    gaps: GapsPart = _lazy_part()
    """Goals that fail repeatedly; `brain.evolve` learns from them."""
    patterns: PatternsPart = _lazy_part()
    """Sequences of skills that recur."""
    receipts: ReceiptsPart = _lazy_part()
    """The records of runs."""
    prompt: PromptPart = _lazy_part("files")
    """The index of skills, and the system prompt."""
    secrets: SecretsPart = _lazy_part("history")
    """Find secrets."""
    proofs: ProofsPart = _lazy_part("history")
    """Proofs that anybody can check without the brain."""
    imports: ImportsPart = _lazy_part("history")
    """Record states of other programs' files."""

    def __init__(self, session: Session, open_ledger: OpenLedger | None = None) -> None:
        self._locked = locked = LockedSession(session)
        locked.open_ledger = open_ledger
        locked.commit_if_due = partial(_commit_if_due, locked)

    def close(self) -> None:
        """Close the store. The brain cannot be used afterwards."""
        self._locked.wait_for_recorder(_CLOSE_SECONDS)
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def root(self) -> Path:
        """The folder of the brain."""
        return self._session.root

    @property
    def id(self) -> str:
        """The id of the brain: that of its genesis snapshot."""
        return self._session.brain_id().hex()

    @property
    def head(self) -> str:
        """The id of the snapshot at the head of the current branch."""
        return self._session.head().hex()

    @property
    def last_recorded(self) -> str:
        """The id of the snapshot that this object recorded last, "" for none."""
        snapshot_id = self._session.last_recorded
        return snapshot_id.hex() if snapshot_id is not None else ""

    @property
    def branch(self) -> str:
        """The name of the current branch."""
        return self._session.current_branch()

    @property
    def _session(self) -> Session:
        return self._locked.session

    @cached_property
    def proposals(self) -> ProposalsPart[Self]:
        """Changes that wait for review."""
        from .branches import ProposalsPart

        return ProposalsPart(self._locked, type(self))


def _commit_if_due(locked: LockedSession, result: Written) -> Written:
    """Return what a write made with its commitment, if the manifest asks for one."""
    if locked.open_ledger is None or not result.changed:
        return result
    from ..repo import manifest

    if not locked.run(manifest.may_have_commit_policy, bytes.fromhex(result.snapshot)):
        return result
    from ..repo.ledgers import commit_policy

    commitment = locked.run(commit_policy.commit_if_due, locked.open_ledger, result.snapshot)
    return result._replace(commitment=commitment)
