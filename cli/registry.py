"""All commands: the module and attribute that hold each, and its summary.

The summaries stand here so that `brain --help` imports no command. They equal the
first line of each command's help; a test compares them.
"""

from __future__ import annotations

from typing import NamedTuple


class CommandEntry(NamedTuple):
    """A command: `module:object` in brain_cli.commands, and one line about it."""

    target: str
    summary: str


CommandTable = dict[str, dict[str, CommandEntry]]
"""Heading to name to entry, in the order in which help shows them."""

ROOT_COMMANDS: CommandTable = {
    "Record": {
        "init": CommandEntry("record:init_command", "Make a brain of a folder."),
        "status": CommandEntry(
            "record:status_command", "Show what changed since the last snapshot."
        ),
        "snapshot": CommandEntry("record:snapshot_command", "Record the folder as it is."),
        "watch": CommandEntry(
            "record:watch_command", "Record what any program changes, as it changes."
        ),
        "skill": CommandEntry("skill:skill_group", "Write, read and check skills."),
    },
    "Move in and out": {
        "adopt": CommandEntry(
            "import_export:adopt_command", "Make a brain of what another program keeps."
        ),
        "publish": CommandEntry(
            "import_export:publish_command", "Write skills where another program reads them."
        ),
    },
    "Look back": {
        "log": CommandEntry("history:log_command", "List snapshots, newest first."),
        "show": CommandEntry("history:show_command", "Show one snapshot."),
        "diff": CommandEntry("history:diff_command", "Say what differs between two states."),
        "blame": CommandEntry(
            "history:blame_command", "Tell which snapshot wrote each line of a skill."
        ),
        "bisect": CommandEntry(
            "history:bisect_command", "Find the snapshot that made a check fail."
        ),
        "why": CommandEntry("history:why_command", "Tell which work made each version of a skill."),
        "receipt": CommandEntry(
            "receipt:receipt_group", "See what agents did, and check that it is so."
        ),
        "export-lineage": CommandEntry(
            "verify:export_lineage_command", "Write a lineage to a file, without its files."
        ),
        "ancestry": CommandEntry(
            "verify:ancestry_command", "Tell whether a snapshot descends from another."
        ),
        "verify": CommandEntry(
            "verify:verify_command", "Check the lineage back to its first snapshot."
        ),
    },
    "Prove": {
        "prove": CommandEntry(
            "prove:prove_command", "Prove to somebody without the brain what is in it."
        ),
        "check-proof": CommandEntry(
            "prove:check_proof_command", "Check a proof, with no brain at hand."
        ),
    },
    "Vouch": {
        "key": CommandEntry("key:key_group", "Make keys, and say whose signatures count."),
        "sign": CommandEntry("sign:sign_command", "Sign a snapshot with one of your keys."),
    },
    "Commit to a ledger": {
        "chain": CommandEntry("chain:chain_group", "Record snapshots where others can see them."),
        "config": CommandEntry(
            "config:config_group", "Say which ledgers there are, and which model."
        ),
    },
    "Branch and merge": {
        "branch": CommandEntry("branch:branch_command", "List branches, make one, or remove one."),
        "switch": CommandEntry("branch:switch_command", "Go on with another branch."),
        "merge": CommandEntry(
            "branch:merge_command", "Merge the work of another branch into this one."
        ),
        "proposal": CommandEntry("proposal:proposal_group", "See what agents propose, and decide."),
        "fork": CommandEntry(
            "branch:fork_command", "Begin a brain of its own from a snapshot of this one."
        ),
        "resolve": CommandEntry(
            "branch:resolve_command", "Decide conflicts of a merge, or list them."
        ),
    },
    "Go back": {
        "restore": CommandEntry("undo:restore_command", "Bring files back from a snapshot."),
        "undo": CommandEntry("undo:undo_command", "Take back the last operation."),
        "redo": CommandEntry("undo:redo_command", "Do again what was undone."),
        "op": CommandEntry("op:op_group", "Look at the operation log."),
    },
    "Forget": {
        "secrets": CommandEntry(
            "forget:secrets_command", "Look for keys, tokens and passwords in what is recorded."
        ),
        "redact": CommandEntry("forget:redact_command", "Destroy the content of a file for good."),
        "gc": CommandEntry(
            "forget:gc_command", "Remove what nothing needs any more, and give its space back."
        ),
    },
    "Feed an agent": {
        "index": CommandEntry(
            "prompt:index_command", "Print the Level-0 index: one line per skill."
        ),
        "prompt": CommandEntry("prompt:prompt_command", "Print the system prompt."),
        "tools": CommandEntry("tools:tools_group", "Give a model its tools, or call one yourself."),
        "mcp": CommandEntry(
            "mcp:mcp_group", "Serve this brain to agents (MCP), or set a client up."
        ),
    },
    "Learn": {
        "evolve": CommandEntry("evolve:evolve_group", "Learn from work that was done."),
    },
    "Help": {
        "demo": CommandEntry("demo:demo_command", "Tell the whole story on an example."),
        "doctor": CommandEntry(
            "support:doctor_command", "Check that this brain and this machine are in order."
        ),
        "completion": CommandEntry(
            "support:completion_command", "Print a completion script for a shell."
        ),
    },
}

SKILL_COMMANDS: CommandTable = {
    "Write": {
        "upsert": CommandEntry(
            "skill:skill_upsert_command", "Create a skill, or raise it to its next version."
        ),
        "revert": CommandEntry(
            "skill:skill_revert_command", "Bring back an earlier text as a new version."
        ),
        "merge": CommandEntry(
            "skill:skill_merge_command", "Let one skill absorb another, which is removed."
        ),
        "delete": CommandEntry("skill:skill_delete_command", "Remove a skill; its history stays."),
    },
    "Read": {
        "list": CommandEntry("skill:skill_list_command", "List the skills."),
        "view": CommandEntry("skill:skill_view_command", "Print the body of a skill."),
        "history": CommandEntry(
            "skill:skill_history_command", "List the versions of a skill, newest first."
        ),
        "similar": CommandEntry(
            "skill:skill_similar_command", "List the skills that one nearly duplicates."
        ),
        "check": CommandEntry(
            "skill:skill_check_command", "Check skills against the rules of agentskills.io."
        ),
    },
}

OP_COMMANDS: CommandTable = {
    "Read": {
        "log": CommandEntry("op:op_log_command", "List operations, newest first."),
    },
}

RECEIPT_COMMANDS: CommandTable = {
    "Look": {
        "show": CommandEntry(
            "receipt:receipt_show_command", "Show what was done in a run, step by step."
        ),
        "verify": CommandEntry(
            "receipt:receipt_verify_command", "Check that a receipt is what became of the brain."
        ),
    },
    "Take in": {
        "import": CommandEntry(
            "receipt:receipt_import_command", "Read the transcript of another program as a receipt."
        ),
    },
}

PROPOSAL_COMMANDS: CommandTable = {
    "Look": {
        "list": CommandEntry("proposal:proposal_list_command", "List what agents propose."),
        "show": CommandEntry(
            "proposal:proposal_show_command", "Show what a proposal would change."
        ),
    },
    "Decide": {
        "accept": CommandEntry(
            "proposal:proposal_accept_command", "Merge what you looked at into this branch."
        ),
        "reject": CommandEntry("proposal:proposal_reject_command", "Remove a proposal."),
    },
}

MCP_COMMANDS: CommandTable = {
    "Serve": {
        "serve": CommandEntry("mcp:mcp_serve_command", "Serve this brain to agents (default)."),
    },
    "Set up": {
        "install": CommandEntry(
            "mcp:mcp_install_command", "Enter this brain in the settings of a client."
        ),
    },
}

KEY_COMMANDS: CommandTable = {
    "Own keys": {
        "new": CommandEntry("key:key_new_command", "Make a key of your own."),
        "list": CommandEntry("key:key_list_command", "List your own keys."),
    },
    "Trust": {
        "trust": CommandEntry(
            "key:key_trust_command", "Let a key sign the snapshots of this brain."
        ),
        "retire": CommandEntry(
            "key:key_retire_command", "End the rights of a key; what it signed stays good."
        ),
        "revoke": CommandEntry(
            "key:key_revoke_command", "Let no signature of a key count any more."
        ),
        "threshold": CommandEntry("key:key_threshold_command", "Say how many keys have to sign."),
        "trusted": CommandEntry("key:key_trusted_command", "List who may sign what comes next."),
        "roots": CommandEntry(
            "key:key_roots_command", "Show or change the root keys pinned for this brain."
        ),
        "repair": CommandEntry("key:key_repair_command", "Put the last good trust file back."),
        "equivocations": CommandEntry(
            "key:key_equivocations_command", "Prove which keys signed two continuations."
        ),
    },
}

CHAIN_COMMANDS: CommandTable = {
    "Commit": {
        "open": CommandEntry(
            "chain:chain_open_command", "Make the first commitment of this brain in a ledger."
        ),
        "commit": CommandEntry("chain:chain_commit_command", "Record a snapshot in a ledger."),
        "batch": CommandEntry("chain:chain_batch_command", "Commit many brains at once."),
    },
    "Check": {
        "status": CommandEntry(
            "chain:chain_status_command", "Show what a ledger holds of this brain."
        ),
        "verify": CommandEntry(
            "chain:chain_verify_command",
            "Check this brain against a ledger, and the ledger itself.",
        ),
        "evidence": CommandEntry(
            "chain_evidence:chain_evidence_command", "Write a file that proves a commitment."
        ),
        "check": CommandEntry(
            "chain_evidence:chain_check_command",
            "Check such a file, with no brain and no node at hand.",
        ),
        "checkpoint": CommandEntry(
            "chain_evidence:chain_checkpoint_command", "Print what the log of this machine is now."
        ),
    },
    "On a chain": {
        "deploy": CommandEntry(
            "chain_evm:chain_deploy_command", "Put the registry of brains on a chain."
        ),
        "signer": CommandEntry(
            "chain_evm:chain_signer_command", "Let another account commit this brain."
        ),
        "transfer": CommandEntry(
            "chain_evm:chain_transfer_command", "Offer this brain to another owner."
        ),
        "accept": CommandEntry(
            "chain_evm:chain_accept_command", "Take over a brain that was offered."
        ),
        "authorize": CommandEntry(
            "chain_evm:chain_authorize_command", "Sign a commitment that somebody else may send."
        ),
        "relay": CommandEntry(
            "chain_evm:chain_relay_command", "Send a commitment that was signed elsewhere."
        ),
    },
}

CONFIG_COMMANDS: CommandTable = {
    "Ledgers": {
        "ledger": CommandEntry(
            "config:config_ledger_command", "Add a ledger on a chain, or change one."
        ),
        "list": CommandEntry("config:config_list_command", "List the ledgers."),
        "remove": CommandEntry("config:config_remove_command", "Forget a ledger."),
    },
    "Model": {
        "model": CommandEntry("config:config_model_command", "Say which model learns from runs."),
        "embedder": CommandEntry(
            "config:config_embedder_command", "Say what tells which texts mean the same."
        ),
    },
}

TOOLS_COMMANDS: CommandTable = {
    "Tools": {
        "list": CommandEntry(
            "tools:tools_list_command", "Print the tools that a model may be given."
        ),
        "call": CommandEntry(
            "tools:tools_call_command", "Call a tool as a model does, with the same answers."
        ),
    },
}

EVOLVE_COMMANDS: CommandTable = {
    "Runs": {
        "synthesize": CommandEntry(
            "evolve:evolve_synthesize_command", "Make a skill of a run, or improve one."
        ),
    },
}
