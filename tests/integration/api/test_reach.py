"""What `Brain` offers: the operation of every command, and parts that load when they are used."""

import subprocess
import sys
from operator import attrgetter

import pytest
from brain_cli import registry

import brain as library
import brain.evolve
from brain import Brain, FormatError, InvalidInput
from tests.support.refusals import raises_code

OPERATIONS = {
    "adopt": "adopt preview_adoption exists",
    "ancestry": "history.check_ancestry",
    "blame": "history.blame",
    "branch": "branches.list branches.create branches.delete",
    "chain accept": "ledger.accept_offer",
    "chain authorize commit": "ledger.build_commit_permit",
    "chain authorize open": "ledger.build_open_permit",
    "chain authorize signer": "ledger.build_signer_permit",
    "chain commit": "ledger.commit ledger.quote_commit",
    "chain evidence": "ledger.build_evidence ledger.find_holder",
    "chain open": "ledger.open ledger.quote_open",
    "chain send": "ledger.send_signed ledger.record_mined ledger.find_creator",
    "chain signer": "ledger.set_signer",
    "chain status": "ledger.status",
    "chain supersede": "ledger.plan_repair ledger.supersede ledger.quote_supersede",
    "chain transfer": "ledger.offer ledger.withdraw_offer",
    "chain verify": "ledger.verify",
    "check-proof": "proofs.check",
    "diff": "history.diff history.patch history.diff_stat",
    "doctor": "doctor repair",
    "evolve accept": "gate.accept",
    "evolve recheck": "gate.recheck",
    "evolve acquire": "programs.acquire programs.read_definition",
    "evolve admit": "programs.admit",
    "evolve allow": "programs.find_runnable programs.approve",
    "evolve attempts": "programs.attempts programs.read_attempt",
    "evolve case add": "gate.add_case receipts.read_run receipts.read_run_file",
    "evolve case list": "gate.list_cases",
    "evolve case show": "gate.list_cases",
    "evolve count": "receipts.read_run_files programs.count_imported",
    "evolve gaps": "gaps.list gaps.log",
    "evolve patterns": "patterns.list",
    "evolve pin": "programs.pin",
    "evolve reinstate": "programs.reinstate",
    "evolve retire": "programs.retire",
    "evolve stats": "programs.stats",
    "evolve synthesize": "receipts.read_run receipts.read_run_file",
    "evolve task add": "gate.add_case",
    "evolve try": "gate.open",
    "evolve unpin": "programs.unpin",
    "fork": "fork",
    "gc": "gc",
    "grep": "history.grep",
    "index": "prompt.build_index prompt.build_framed_index",
    "init": "init",
    "key accuse": "trust.find_equivocations",
    "key bind": "trust.bind_account trust.bind_signed_account",
    "key bindings": "trust.list_accounts",
    "key equivocations": "trust.find_equivocations",
    "key repair": "trust.repair",
    "key retire": "trust.retire",
    "key statement": "trust.write_statement",
    "key unbind": "trust.unbind_account",
    "key revoke": "trust.revoke",
    "key roots": "trust.list_roots trust.change_roots trust.pin_first_roots",
    "key threshold": "trust.set_threshold",
    "key trust": "trust.add",
    "key trusted": "trust.show",
    "log": "history.log history.resolve",
    "merge": "merge.start merge.resume merge.abort",
    "op log": "history.list_operations",
    "prompt": "prompt.build",
    "proposal accept": "proposals.accept history.find_undiffable",
    "proposal list": "proposals.list",
    "proposal reject": "proposals.reject",
    "proposal show": "proposals.show proposals.open",
    "prove": "proofs.prove_file proofs.prove_absence proofs.prove_section proofs.prove_descent",
    "publish": "publish",
    "receipt import": "receipts.import_transcripts",
    "receipt show": "receipts.show receipts.read receipts.show_file",
    "receipt verify": "receipts.verify receipts.verify_file",
    "redact": "files.redact",
    "redo": "redo",
    "resolve": "merge.resolve merge.list_conflicts",
    "restore": "restore",
    "secrets": "secrets.scan secrets.scan_text",
    "show": "history.show history.diff_with_parent files.list files.read",
    "sign": "signatures.sign signatures.sign_missing signatures.find_missing signatures.list",
    "skill check": "skills.check skills.check_names",
    "skill delete": "skills.delete",
    "skill history": "skills.history",
    "skill list": "skills.list",
    "skill merge": "skills.merge",
    "skill rename": "skills.rename",
    "skill revert": "skills.revert",
    "skill run": "programs.run",
    "skill select": "skills.select skills.rank",
    "skill similar": "skills.similar skills.find_duplicates",
    "skill show": "skills.view skills.read_file",
    "skill upsert": "skills.upsert",
    "skill view": "skills.view skills.read_file",
    "snapshot": "snapshot",
    "status": "status branch",
    "switch": "branches.switch",
    "tag": "tags.list tags.create tags.delete",
    "undo": "undo",
    "verify": "verify verify_folder",
    "watch": "watch snapshot_changes",
    "why": "history.why",
}
"""The operations of a command."""
LIBRARY_FUNCTIONS = {
    "chain batch": "commit_batch",
    "chain check": "check_evidence",
    "check-proof": "check_proof check_equivocation",
    "evolve grind": "evolve.grind.run_grind",
    "evolve import-registry": "evolve.import_registry",
    "evolve run": "evolve.run evolve.run_due",
    "evolve status": "evolve.read_status",
    "evolve synthesize": "evolve.synthesize",
}
WITHOUT_BRAIN = (
    "chain account new",
    "chain cancel",
    "chain checkpoint",
    "chain contract",
    "chain deploy",
    "chain relay",
    "chain resend",
    "chain speed-up",
    "completion",
    "config",
    "demo",
    "evolve task check",
    "evolve task list",
    "evolve task run",
    "key list",
    "key new",
    "mcp",
    "tools",
)
"""Commands about the user, a chain, tasks in folders, the program; and those of `brain.serve`."""
PARTS = ("branches files gaps gate history ledger receipts signatures skills trust").split()


def command_names() -> list[str]:
    """Return the names of all commands that are no groups."""
    names = [name for heading in registry.ROOT_COMMANDS.values() for name in heading]
    return [name for name in names if name not in registry.GROUP_COMMANDS] + [
        f"{group} {name}"
        for group, table in registry.GROUP_COMMANDS.items()
        for heading in table.values()
        for name in heading
        if f"{group} {name}" not in registry.GROUP_COMMANDS
    ]


@pytest.fixture(scope="module")
def brain(tmp_path_factory):
    with Brain.init(tmp_path_factory.mktemp("brain")) as brain:
        yield brain


@pytest.mark.parametrize("command", command_names())
def test_the_operation_of_every_command_is_reachable(command, brain):
    if command.startswith(WITHOUT_BRAIN):
        return
    for path in OPERATIONS.get(command, "").split():
        assert callable(attrgetter(path)(brain)) or path == "branch"
    functions = LIBRARY_FUNCTIONS.get(command, "").split()
    assert all(callable(attrgetter(name)(library)) for name in functions)
    assert command in OPERATIONS or functions


def test_an_operation_on_a_file_needs_no_open_brain():
    with pytest.raises(FormatError):
        Brain.receipts.show_file(b"{}")


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        (lambda brain: brain.skills.upsert(5), "name: str, not int"),
        (lambda brain: brain.snapshot(paths="skills"), "paths: Sequence[str], not str"),
        (lambda brain: brain.gc("3"), "grace: int, not str"),
        (lambda brain: brain.history.log(limit="3"), "limit: int | None, not str"),
        (lambda brain: brain.fork(3), "path: str | Path, not int"),
    ],
)
def test_an_argument_of_a_wrong_type_is_refused_in_words_of_python(tmp_path, call, hint):
    with Brain.init(tmp_path) as brain, raises_code("bad_argument_type", InvalidInput) as error:
        call(brain)
    assert error.value.hint == hint


def test_a_part_is_loaded_at_its_first_use(tmp_path):
    Brain.init(tmp_path).close()
    code = f"""
import sys
from brain import Brain, FormatError, InvalidInput
from tests.support.refusals import raises_code
def loaded():
    return {{name for name in {PARTS} if f"brain.api.{{name}}" in sys.modules}}
with Brain.open({str(tmp_path)!r}) as brain:
    brain.status()
    for name in {PARTS}:
        before = loaded()
        part = getattr(brain, name)
        assert loaded() - before <= {{type(part).__module__.split(".")[-1]}}, (name, before)
        assert getattr(brain, name) is part
"""
    subprocess.run([sys.executable, "-c", code], check=True)
