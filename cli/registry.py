"""All commands: the module and attribute that hold each, and its summary.

`brain --help` prints the summaries without importing a command. Each equals the first
line of the help of its command; a test compares them.
"""

from __future__ import annotations

from typing import NamedTuple


class CommandEntry(NamedTuple):
    """A command: `module:object` in brain_cli.commands, and its summary."""

    target: str
    summary: str


CommandTable = dict[str, dict[str, CommandEntry]]
"""Heading to name to entry, in the order of the help."""

ROOT_COMMANDS: CommandTable = {
    "Record": {
        "init": CommandEntry("record:init_command", "Turn a folder into a brain."),
        "status": CommandEntry(
            "record:status_command", "Show what changed since the last snapshot."
        ),
        "snapshot": CommandEntry("record:snapshot_command", "Record the folder as it is."),
        "watch": CommandEntry("record:watch_command", "Record changes as they happen."),
        "skill": CommandEntry("skill:skill_group", "Write, read and check skills."),
    },
    "Import and export": {
        "adopt": CommandEntry(
            "import_export:adopt_command", "Import the skills and memory of another program."
        ),
        "publish": CommandEntry(
            "import_export:publish_command", "Export skills to the folder of another program."
        ),
    },
    "History": {
        "log": CommandEntry("history:log_command", "List snapshots, newest first."),
        "show": CommandEntry("history:show_command", "Show one snapshot."),
        "diff": CommandEntry("history:diff_command", "Show the differences between two states."),
        "blame": CommandEntry(
            "history:blame_command", "Show which snapshot wrote each line of a skill."
        ),
        "bisect": CommandEntry(
            "history:bisect_command", "Find the snapshot that made a check fail."
        ),
        "why": CommandEntry("history:why_command", "Show the work behind each version of a skill."),
        "receipt": CommandEntry(
            "receipt:receipt_group", "Show and verify records of what agents did."
        ),
        "export-lineage": CommandEntry(
            "verify:export_lineage_command", "Write a lineage to a file, without its files."
        ),
        "ancestry": CommandEntry(
            "verify:ancestry_command", "Check whether a snapshot descends from another."
        ),
        "verify": CommandEntry(
            "verify:verify_command", "Verify the lineage back to its first snapshot."
        ),
    },
    "Prove": {
        "prove": CommandEntry("prove:prove_command", "Write a proof of what is in the brain."),
        "check-proof": CommandEntry(
            "prove:check_proof_command", "Verify a proof without access to the brain."
        ),
    },
    "Sign": {
        "key": CommandEntry("key:key_group", "Manage your keys and the keys this brain trusts."),
        "sign": CommandEntry("sign:sign_command", "Sign a snapshot with one of your keys."),
    },
    "Commit to a ledger": {
        "chain": CommandEntry("chain:chain_group", "Commit snapshots to a ledger."),
        "config": CommandEntry(
            "config:config_group", "Configure ledgers, the model and the embedder."
        ),
    },
    "Branch and merge": {
        "branch": CommandEntry("branch:branch_command", "List, create or delete branches."),
        "switch": CommandEntry("branch:switch_command", "Switch to another branch."),
        "merge": CommandEntry(
            "branch:merge_command", "Merge the work of another branch into this one."
        ),
        "proposal": CommandEntry(
            "proposal:proposal_group", "List, show, accept or reject proposals of agents."
        ),
        "fork": CommandEntry(
            "branch:fork_command", "Create a new brain from a snapshot of this one."
        ),
        "resolve": CommandEntry(
            "branch:resolve_command", "Resolve or list the conflicts of a merge."
        ),
    },
    "Undo": {
        "restore": CommandEntry("undo:restore_command", "Restore files from a snapshot."),
        "undo": CommandEntry("undo:undo_command", "Undo the last operation."),
        "redo": CommandEntry("undo:redo_command", "Redo the operation that was undone last."),
        "op": CommandEntry("op:op_group", "Show the operation log."),
    },
    "Remove": {
        "secrets": CommandEntry(
            "forget:secrets_command", "Find keys, tokens and passwords in recorded files."
        ),
        "redact": CommandEntry("forget:redact_command", "Destroy the content of a file for good."),
        "gc": CommandEntry("forget:gc_command", "Remove unreachable objects and free their space."),
    },
    "Serve an agent": {
        "index": CommandEntry(
            "prompt:index_command", "Print the Level-0 index: one line per skill."
        ),
        "prompt": CommandEntry("prompt:prompt_command", "Print the system prompt."),
        "tools": CommandEntry("tools:tools_group", "List the tools for models, or call one."),
        "mcp": CommandEntry(
            "mcp:mcp_group", "Serve this brain to agents (MCP), or set up a client."
        ),
    },
    "Learn": {
        "evolve": CommandEntry("evolve:evolve_group", "Make skills from recorded runs."),
    },
    "Help": {
        "demo": CommandEntry("demo:demo_command", "Run every main feature on an example."),
        "doctor": CommandEntry(
            "support:doctor_command", "Check this brain and this machine for problems."
        ),
        "completion": CommandEntry(
            "support:completion_command", "Print a completion script for a shell."
        ),
    },
}

SKILL_COMMANDS: CommandTable = {
    "Write": {
        "upsert": CommandEntry(
            "skill:skill_upsert_command", "Create a skill, or write its next version."
        ),
        "revert": CommandEntry(
            "skill:skill_revert_command", "Restore an earlier text as a new version."
        ),
        "merge": CommandEntry(
            "skill:skill_merge_command", "Merge one skill into another and remove it."
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
            "skill:skill_similar_command", "List the skills that are similar to a skill."
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
    "Read": {
        "show": CommandEntry("receipt:receipt_show_command", "Show the steps of a run."),
        "verify": CommandEntry(
            "receipt:receipt_verify_command", "Verify a receipt against the lineage."
        ),
    },
    "Import": {
        "import": CommandEntry(
            "receipt:receipt_import_command", "Convert the transcript of another program."
        ),
    },
}

PROPOSAL_COMMANDS: CommandTable = {
    "Read": {
        "list": CommandEntry("proposal:proposal_list_command", "List the proposals of agents."),
        "show": CommandEntry(
            "proposal:proposal_show_command", "Show what a proposal would change."
        ),
    },
    "Decide": {
        "accept": CommandEntry(
            "proposal:proposal_accept_command", "Merge a proposal into this branch."
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
            "mcp:mcp_install_command", "Add this brain to the settings of a client."
        ),
    },
}

KEY_COMMANDS: CommandTable = {
    "Own keys": {
        "new": CommandEntry("key:key_new_command", "Create a key."),
        "list": CommandEntry("key:key_list_command", "List your keys."),
    },
    "Trust": {
        "trust": CommandEntry(
            "key:key_trust_command", "Let a key sign the snapshots of this brain."
        ),
        "retire": CommandEntry(
            "key:key_retire_command", "End the rights of a key; its signatures stay valid."
        ),
        "revoke": CommandEntry(
            "key:key_revoke_command", "Revoke a key; its signatures become invalid."
        ),
        "threshold": CommandEntry(
            "key:key_threshold_command", "Set how many keys must sign each snapshot."
        ),
        "trusted": CommandEntry(
            "key:key_trusted_command", "List the keys that may sign the next snapshot."
        ),
        "roots": CommandEntry(
            "key:key_roots_command", "Show or change the root keys pinned for this brain."
        ),
        "repair": CommandEntry("key:key_repair_command", "Restore the last valid trust file."),
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
        "batch": CommandEntry("chain:chain_batch_command", "Commit many brains in one step."),
    },
    "Check": {
        "status": CommandEntry(
            "chain:chain_status_command", "Show the commitments of this brain in a ledger."
        ),
        "verify": CommandEntry(
            "chain:chain_verify_command",
            "Verify this brain against a ledger.",
        ),
        "evidence": CommandEntry(
            "chain_evidence:chain_evidence_command", "Write evidence of a commitment to a file."
        ),
        "check": CommandEntry(
            "chain_evidence:chain_check_command",
            "Verify evidence without a brain or a node.",
        ),
        "checkpoint": CommandEntry(
            "chain_evidence:chain_checkpoint_command",
            "Print a checkpoint of the log of this machine.",
        ),
    },
    "On a chain": {
        "deploy": CommandEntry(
            "chain_evm:chain_deploy_command", "Deploy the registry contract to a chain."
        ),
        "signer": CommandEntry(
            "chain_evm:chain_signer_command", "Set the account that may commit this brain."
        ),
        "transfer": CommandEntry(
            "chain_evm:chain_transfer_command", "Offer this brain to another owner."
        ),
        "accept": CommandEntry(
            "chain_evm:chain_accept_command", "Accept the ownership of an offered brain."
        ),
        "authorize": CommandEntry(
            "chain_evm:chain_authorize_command", "Sign a commitment for another account to send."
        ),
        "relay": CommandEntry(
            "chain_evm:chain_relay_command", "Send a commitment that another key signed."
        ),
    },
}

CONFIG_COMMANDS: CommandTable = {
    "Ledgers": {
        "ledger": CommandEntry(
            "config:config_ledger_command", "Add or change a ledger on a chain."
        ),
        "list": CommandEntry("config:config_list_command", "List the ledgers."),
        "remove": CommandEntry("config:config_remove_command", "Remove the settings of a ledger."),
    },
    "Model": {
        "model": CommandEntry(
            "config:config_model_command", "Set the model that makes skills from runs."
        ),
        "embedder": CommandEntry(
            "config:config_embedder_command", "Set the embedder that selects skills by meaning."
        ),
    },
}

TOOLS_COMMANDS: CommandTable = {
    "Tools": {
        "list": CommandEntry(
            "tools:tools_list_command", "Print the definitions of the tools for models."
        ),
        "call": CommandEntry("tools:tools_call_command", "Call a tool as a model does."),
    },
}

EVOLVE_COMMANDS: CommandTable = {
    "Runs": {
        "synthesize": CommandEntry(
            "evolve:evolve_synthesize_command", "Create or improve a skill from a run."
        ),
    },
}
