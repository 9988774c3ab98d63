"""The methods that `Brain` had before it had parts, until call sites move; then this file goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .parts import BrainParts

if TYPE_CHECKING:
    from ..repo.ledgers.commit_policy import OpenLedger

Method = TypeVar("Method")


class _Moved(Generic[Method]):
    """An old method: the new one, with its signature."""

    def __init__(self, find: Callable[[BrainParts], Method]) -> None:
        self._find = find

    def __get__(self, brain: BrainParts, owner: Any = None) -> Method:
        return self._find(brain)


class OldMethods(BrainParts):
    """Old names of methods; those that a part has the name of are its `__call__`."""

    log = _Moved(lambda brain: brain.history.log)
    show = _Moved(lambda brain: brain.history.show)
    diff = _Moved(lambda brain: brain.history.diff)
    patch = _Moved(lambda brain: brain.history.patch)
    stat = _Moved(lambda brain: brain.history.diff_stat)
    unshown = _Moved(lambda brain: brain.history.find_undiffable)
    blame = _Moved(lambda brain: brain.history.blame)
    bisect = _Moved(lambda brain: brain.history.bisect)
    why = _Moved(lambda brain: brain.history.why)
    operations = _Moved(lambda brain: brain.history.list_operations)
    ancestry = _Moved(lambda brain: brain.history.check_ancestry)
    export_lineage = _Moved(lambda brain: brain.history.export_lineage)
    read_file = _Moved(lambda brain: brain.files.read)
    edit_file = _Moved(lambda brain: brain.files.edit)
    redact = _Moved(lambda brain: brain.files.redact)
    memory_file = _Moved(lambda brain: brain.memory.locate)
    upsert_skill = _Moved(lambda brain: brain.skills.upsert)
    edit_skill = _Moved(lambda brain: brain.skills.edit)
    delete_skill = _Moved(lambda brain: brain.skills.delete)
    revert_skill = _Moved(lambda brain: brain.skills.revert)
    merge_skills = _Moved(lambda brain: brain.skills.merge)
    view_skill = _Moved(lambda brain: brain.skills.view)
    read_skill = _Moved(lambda brain: brain.skills.read_file)
    skill_history = _Moved(lambda brain: brain.skills.history)
    check_skills = _Moved(lambda brain: brain.skills.check)
    doubtful_names = _Moved(lambda brain: brain.skills.check_names)
    select = _Moved(lambda brain: brain.skills.select)
    selection = _Moved(lambda brain: brain.skills.rank)
    similar_skills = _Moved(lambda brain: brain.skills.find_duplicates)
    similar_to = _Moved(lambda brain: brain.skills.similar)
    create_branch = _Moved(lambda brain: brain.branches.create)
    delete_branch = _Moved(lambda brain: brain.branches.delete)
    switch = _Moved(lambda brain: brain.branches.switch)
    conflicts = _Moved(lambda brain: brain.merge.list_conflicts)
    resolve = _Moved(lambda brain: brain.merge.resolve)
    continue_merge = _Moved(lambda brain: brain.merge.resume)
    abort_merge = _Moved(lambda brain: brain.merge.abort)
    proposal = _Moved(lambda brain: brain.proposals.open)
    show_proposal = _Moved(lambda brain: brain.proposals.show)
    accept_proposal = _Moved(lambda brain: brain.proposals.accept)
    reject_proposal = _Moved(lambda brain: brain.proposals.reject)
    commit = _Moved(lambda brain: brain.ledger.commit)
    open_in = _Moved(lambda brain: brain.ledger.open)
    quote_commit = _Moved(lambda brain: brain.ledger.quote_commit)
    quote_open = _Moved(lambda brain: brain.ledger.quote_open)
    wish_for = _Moved(lambda brain: brain.ledger.build_request)
    ledger_status = _Moved(lambda brain: brain.ledger.status)
    verify_against = _Moved(lambda brain: brain.ledger.verify)
    commit_policy = _Moved(lambda brain: brain.ledger.read_policy)
    evidence = _Moved(lambda brain: brain.ledger.build_evidence)
    trusted = _Moved(lambda brain: brain.trust.show)
    trust_key = _Moved(lambda brain: brain.trust.add)
    end_key = _Moved(lambda brain: brain.trust.retire)
    revoke_key = _Moved(lambda brain: brain.trust.revoke)
    set_threshold = _Moved(lambda brain: brain.trust.set_threshold)
    repair_trust = _Moved(lambda brain: brain.trust.repair)
    equivocations = _Moved(lambda brain: brain.trust.find_equivocations)
    sign = _Moved(lambda brain: brain.signatures.sign)
    sign_all = _Moved(lambda brain: brain.signatures.sign_missing)
    unsigned = _Moved(lambda brain: brain.signatures.find_missing)
    prove = _Moved(lambda brain: brain.proofs.prove_file)
    prove_absence = _Moved(lambda brain: brain.proofs.prove_absence)
    prove_section = _Moved(lambda brain: brain.proofs.prove_section)
    prove_descent = _Moved(lambda brain: brain.proofs.prove_descent)
    receipt = _Moved(lambda brain: brain.receipts.show)
    receipt_bytes = _Moved(lambda brain: brain.receipts.read)
    verify_receipt = _Moved(lambda brain: brain.receipts.verify)
    verify_receipt_file = _Moved(lambda brain: brain.receipts.verify_file)
    run_at = _Moved(lambda brain: brain.receipts.read_run)
    synthesis_policy = _Moved(lambda brain: brain.receipts.read_synthesis_policy)
    index = _Moved(lambda brain: brain.prompt.build_index)
    index_pages = _Moved(lambda brain: brain.prompt.build_index_pages)
    framed_index = _Moved(lambda brain: brain.prompt.build_framed_index)
    secrets_in = _Moved(lambda brain: brain.secrets.scan_text)
    import_steps = _Moved(lambda brain: brain.imports.record_states)
    import_folder = _Moved(lambda brain: brain.imports.record_folder)
    last_import = _Moved(lambda brain: brain.imports.find_last_state)

    @property
    def open_ledger(self) -> OpenLedger | None:
        """Old name of `ledger.opener`."""
        return self.ledger.opener

    @open_ledger.setter
    def open_ledger(self, open_ledger: OpenLedger | None) -> None:
        self.ledger.opener = open_ledger
