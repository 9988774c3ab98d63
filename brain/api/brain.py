"""`Brain`: an open brain, composed of parts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ..repo.part import LockedSession, Part, Written, call_system, lazy, open_session, reads, writes
from ..repo.session import CONTROL_FOLDER, find_brain, is_brain
from ..util.progress import no_progress

if TYPE_CHECKING:
    from types import TracebackType

    from .. import results
    from ..chain.ledger_protocol import Ledger
    from ..experience.settings import LoadExperienceSettings
    from ..ops import create, doctor, gc, manual_edits, restore, snapshot, undo
    from ..repo import manifest
    from ..repo.ledgers import commit_policy
    from ..repo.ledgers.commit_policy import OpenLedger
    from ..repo.session import PinnedRootsProvider, Session, SigningKeyProvider
    from ..search.embedder import OpenEmbedder
    from ..util.progress import Progress
    from ..verify import verification
    from ..watching import Watch
    from .branches import BranchesPart, MergePart, ProposalsPart, TagsPart
    from .files import FilesPart, MemoryPart, PromptPart
    from .history import HistoryPart, ImportsPart, ProofsPart, SecretsPart
    from .learning import GapsPart, GatePart, PatternsPart, ProgramsPart
    from .ledger import LedgerPart, SignaturesPart, TrustPart
    from .skills import SkillsPart
    from .task import ReceiptsPart, Task
else:
    lazy(globals(), "ops", "create doctor gc manual_edits restore snapshot undo")
    lazy(globals(), "repo", "manifest")
    lazy(globals(), "repo.ledgers", "commit_policy")
    lazy(globals(), "verify", "verification")


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


class Brain(Part):
    """A folder of skills, memory and prompts under version control.

    `Brain.open` opens one, `Brain.init` creates one. Operations of one kind form a part:
    `brain.skills.upsert(…)`, `brain.history.log()`. A part is loaded at its first use.

    Ids are hex text, times `datetime` in UTC, paths relative to the brain. A
    revision is an id, a unique prefix of six or more digits, a branch, a tag, `@` for the head, or
    one of these followed by `~N`. Reading never writes. Threads may share an instance;
    writers, also of other processes, take turns. Every error is a `BrainError`.
    """

    skills: SkillsPart = _lazy_part()
    """Write, read, compare and select skills."""
    programs: ProgramsPart = _lazy_part("learning")
    """Try, admit, run and retire the programs of skills."""
    gate: GatePart = _lazy_part("learning")
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
    trust: TrustPart = _lazy_part("ledger")
    """The trust file, and pinned root keys."""
    signatures: SignaturesPart = _lazy_part("ledger")
    """Sign snapshots, and list signatures."""
    gaps: GapsPart = _lazy_part("learning")
    """Goals that fail repeatedly; `brain.evolve` learns from them."""
    patterns: PatternsPart = _lazy_part("learning")
    """Sequences of skills that recur."""
    receipts: ReceiptsPart = _lazy_part("task")
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

    def __repr__(self) -> str:
        return f"<Brain at {self.root}>"

    @classmethod
    def init(
        cls,
        path: str | Path,
        *,
        name: str = "",
        layout: str = "directory",
        author: str = "",
        sign_with: SigningKeyProvider | None = None,
    ) -> Self:
        """Create a brain in a folder, new or existing; `layout` is that of new skills.

        `sign_with` is as for `open`.
        Raises `InvalidInput` (`brain_exists`, `not_a_folder`, `bad_manifest`).
        """
        session, _ = call_system(create.create_brain, Path(path), name, layout, author, sign_with)
        return cls(session)

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        author: str = "",
        sign_with: SigningKeyProvider | None = None,
        ledgers: OpenLedger | None = None,
        embedder: OpenEmbedder | None = None,
        progress: Progress | None = None,
        roots: PinnedRootsProvider | None = None,
        experience: LoadExperienceSettings | None = None,
    ) -> Self:
        """Open the brain in the folder `path`; `find` also looks in the folders above.

        `sign_with` returns a private key (32 bytes) to sign each snapshot as it is recorded.
        `ledgers` opens a ledger by name, for the commit policy of the manifest. `embedder`
        opens an embedder, for selection by meaning; `experience` says where experience is stored.
        `progress` is called during long work on the cache. `roots` returns the root keys that the
        user has pinned for a brain id, for `verify` and prompts. A store that cannot be written
        can be read. Raises `NoBrain`, or `StoreError` for damage.
        """
        session = call_system(open_session, Path(path), author)
        session.sign_with = sign_with
        session.open_embedder = embedder
        session.progress = progress or no_progress
        session.pinned_roots_provider = roots
        session.load_experience_settings = experience
        return cls(session, ledgers)

    @classmethod
    def adopt(
        cls,
        path: str | Path,
        into: str | Path | None = None,
        kind: str | None = None,
        allow: Collection[str] = (),
        *,
        name: str = "",
        author: str = "",
        sign_with: SigningKeyProvider | None = None,
        ledgers: OpenLedger | None = None,
        progress: Progress | None = None,
    ) -> results.Adopted:
        """Adopt another program's files: in place, or into the brain `into`, new or existing.

        The `path` may be the URL of a git repository, or a `.skill` or `.zip` file. `kind` names
        the program where it is not clear. Files with certain secrets are left out unless
        `allow` has the ids of the findings. On failure no new brain is left. Raises
        `InvalidInput` (`no_source`, `unknown_source`, `bad_url`, …), or as `merge.start`.
        """
        from ..adopting.adopt import adopt
        from ..adopting.create_brain import BrainOpener

        opener = BrainOpener(
            name=name,
            create=lambda folder: cls.init(folder, name=name, author=author, sign_with=sign_with),
            open=lambda folder: cls.open(
                folder, author=author, sign_with=sign_with, ledgers=ledgers, progress=progress
            ),
        )
        target = Path(into) if into is not None else None
        return adopt(path, target, kind, allow, opener, progress or no_progress)

    @classmethod
    def preview_adoption(
        cls,
        path: str | Path,
        into: str | Path | None = None,
        kind: str | None = None,
        allow: Collection[str] = (),
        progress: Progress | None = None,
    ) -> results.Adopted:
        """Return what `adopt` would adopt and leave out, without writing. Raises as `adopt`."""
        from ..adopting.adopt import preview_adoption

        target = Path(into) if into is not None else None
        return preview_adoption(path, target, kind, allow, cls.open, progress or no_progress)

    @staticmethod
    def find(start: str | Path | None = None) -> Path:
        """Return the nearest folder with a brain, from `start` (the current folder) upwards.

        Raises `NoBrain`.
        """
        return find_brain(Path.cwd() if start is None else Path(start))

    @staticmethod
    def exists(path: str | Path) -> bool:
        """Return whether the folder `path` has a brain."""
        return is_brain(Path(path))

    @staticmethod
    def verify_folder(
        path: str | Path,
        deep: bool = False,
        progress: Progress | None = None,
        *,
        require_signatures: bool = False,
        roots: Sequence[str] = (),
        pinned_roots: PinnedRootsProvider | None = None,
    ) -> results.Verified:
        """Verify the brain in a folder, also one that `open` refuses: that is then a finding.

        As `verify`; `pinned_roots` is as `roots` for `open`.
        """
        from ..repo.session import Session
        from ..store.reader import open_store_reader

        verified = call_system(
            verification.verify_folder,
            Path(path),
            deep,
            verification.parse_requirements(require_signatures, roots),
            progress or no_progress,
            pinned_roots,
        )
        if not verified.head:
            return verified
        # For reading, as the verifier does: `open` may refuse it, or finish a rollback first.
        reader = call_system(open_store_reader, Path(path) / CONTROL_FOLDER)
        with closing(Session(Path(path), reader)) as session:
            return snapshot.add_uncovered(session, verified, progress or no_progress)

    # Record and go back

    status = reads(lambda: snapshot.status)
    snapshot = writes(lambda: snapshot.snapshot)

    def snapshot_changes(self, paths: Sequence[str] | None = None) -> results.Recorded:
        """Record the folder, with a message that lists the changes; `watch` does this.

        With `paths`, only the files at and below them. Unlike for `snapshot`, a path that
        does not exist is no error.
        """
        return self._record_changes(manual_edits.WATCHED, paths)

    def _record_changes(self, description: str, paths: Sequence[str] | None) -> results.Recorded:
        return self._locked.run_write(snapshot.record_changes, description, paths)

    def record_edits(self, skill: str = "") -> results.Recorded:
        """Record what people and programs edited in the folder, if anything was.

        What shows, exports, signs, proves or commits the state of a brain calls it first: the
        commands and the tools of agents do. With `skill`, only its files are looked at, if the
        head has it. Raises as `snapshot`, and `Conflict` (`unsigned_edits`) in a brain with a
        trust file without a key to sign with.
        """
        found = self._locked.run(manual_edits.find_edits, skill)
        if found.place is None:
            return self._locked.run(manual_edits.nothing_recorded, found.notices)
        paths = [found.place] if found.place else None
        return self._record_changes(manual_edits.RECORDED_FIRST, paths)

    def is_recorded_by_watcher(self) -> bool:
        """Tell whether a watcher records a folder of more than 10,000 files.

        Then what only shows the state need not scan it; the watcher records within seconds.
        """
        if not self._locked.run(manual_edits.is_large):
            return False
        from ..watching import is_watched

        return is_watched(self.root)

    restore = reads(lambda: restore.restore)
    undo = reads(lambda: undo.undo)
    redo = reads(lambda: undo.redo)

    def task(
        self,
        task: str,
        *,
        agent: str = "",
        model: str = "",
        run: str = "",
        chat: str = "",
        on_success: Callable[[Task], object] | None = None,
    ) -> Task:
        """Start a recorded run: `with brain.task("Audit the vault") as task: …`.

        Writes of this thread, or task of asyncio, inside of the block belong to the run: each
        snapshot carries a receipt of the steps before it. At the end a last snapshot carries
        the outcome; a run without steps records nothing. Without `with`, use
        `task.activate()` around its writes, and `task.close()`. `run` is the id of the run if
        it has one already, and `chat` the conversation that it belongs to, by default the agent:
        see `brain.patterns`. `on_success` is called at the end of a block that raised nothing,
        still within the run, as by `brain.evolve.Learner` to learn from it.
        """
        from ..repo.receipts import runs
        from .task import Task

        begun = self._locked.run(runs.begin_run, task, agent, model, run)
        return Task(self._locked, begun, on_success, chat=chat)

    # Verify and maintain

    def verify(
        self,
        deep: bool = False,
        progress: Progress | None = None,
        *,
        require_signatures: bool = False,
        roots: Sequence[str] = (),
        ledgers: Sequence[Ledger] = (),
    ) -> results.Verified:
        """Verify the whole brain; with `deep`, read every blob again.

        With `require_signatures` each snapshot since the first trust file needs signatures.
        `roots` are keys (`ed25519:…`) that must have signed the first trust file, in addition
        to the pinned ones. Without any, signatures that are required are not enough, since
        anybody can make them: the finding is `not_vouched`. Nothing is recorded: what differs from
        the head in the folder is `uncovered`. `ledgers` are compared with the lineage, too. Raises
        `InvalidInput` (`bad_key`), or `LedgerError`.
        """
        requirements = verification.parse_requirements(require_signatures, roots)
        verified = self._locked.run(
            verification.verify_brain, requirements, deep, progress or no_progress
        )
        verified = self._locked.run(snapshot.add_uncovered, verified)
        return self.ledger.extend(verified, ledgers) if ledgers and verified.head else verified

    gc = reads(lambda: gc.gc)
    doctor = reads(lambda: doctor.doctor)
    repair = reads(lambda: doctor.repair)

    # Copy and watch

    fork = reads(lambda: create.fork)

    def publish(
        self,
        client: str | None,
        folder: str | Path,
        rev: str = "@",
        *,
        overwrite: bool = False,
        include: Collection[str] = (),
        allow: Collection[str] = (),
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> results.Published:
        """Write skills, memory and prompts into the folder of another program.

        With None as the client, the folder is written in the form in which it was adopted.

        With conflicts nothing is written unless `overwrite` replaces foreign files.
        `include` names files, other than skills, to write although they came from other homes. A
        file with a secret not in `allow` is held back. Raises `Locked`, or `InvalidInput`.
        """
        from ..adopting.publish import publish

        return call_system(
            publish,
            self,
            client,
            Path(folder),
            rev,
            overwrite=overwrite,
            include=include,
            allow=allow,
            dry_run=dry_run,
            progress=progress or no_progress,
        )

    def watch(self, *, debounce: float = 0.5, max_wait: float = 10.0) -> Watch:
        """Return the watcher that records changes of the folder, as a context manager.

        It records after `debounce` seconds without a change, or after `max_wait` seconds.
        Raises `Locked` (`watched`) if the brain has a watcher.
        """
        from ..watching import Watch

        return Watch(self.root, self.snapshot_changes, self._describe_watched, debounce, max_wait)

    def _describe_watched(self, recorded: results.Recorded) -> results.Watched:
        from ..results import Watched

        (info,) = self.history.log(recorded.snapshot, limit=1)
        fields = {name: value for name, value in recorded._asdict().items() if name != "changed"}
        return Watched(time=info.time, message=info.message, **fields)


def _commit_if_due(locked: LockedSession, result: Written) -> Written:
    """Return what a write made with its commitment, if the manifest asks for one."""
    if locked.open_ledger is None or not result.changed:
        return result
    if not locked.run(manifest.may_have_commit_policy, bytes.fromhex(result.snapshot)):
        return result
    commitment = locked.run(commit_policy.commit_if_due, locked.open_ledger, result.snapshot)
    return result._replace(commitment=commitment)
