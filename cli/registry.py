"""All commands: the module and attribute that hold each, and its summary.

The summaries stand here so that `brain --help` imports no command. They equal the
first line of each command's help; a test compares them.
"""

from __future__ import annotations

from typing import NamedTuple


class CommandEntry(NamedTuple):
    """A command: the module that holds it as `command`, and one line about it."""

    module: str
    summary: str


CommandTable = dict[str, dict[str, CommandEntry]]
"""Heading to name to entry, in the order in which help shows them."""

ROOT_COMMANDS: CommandTable = {
    "Record": {
        "init": CommandEntry("init", "Make a brain of a folder."),
        "status": CommandEntry("status", "Show what changed since the last snapshot."),
        "snapshot": CommandEntry("snapshot", "Record the folder as it is."),
        "watch": CommandEntry("watch", "Record what any program changes, as it changes."),
        "skill": CommandEntry("skill", "Write, read and check skills."),
    },
    "Move in and out": {
        "adopt": CommandEntry("adopt", "Make a brain of what another program keeps."),
        "publish": CommandEntry("publish", "Write skills where another program reads them."),
    },
    "Look back": {
        "log": CommandEntry("log", "List snapshots, newest first."),
        "show": CommandEntry("show", "Show one snapshot."),
        "diff": CommandEntry("diff", "Say what differs between two states."),
        "blame": CommandEntry("blame", "Tell which snapshot wrote each line of a skill."),
        "bisect": CommandEntry("bisect", "Find the snapshot that made a check fail."),
        "why": CommandEntry("why", "Tell which work made each version of a skill."),
        "receipt": CommandEntry("receipt", "See what agents did, and check that it is so."),
        "lineage": CommandEntry("lineage", "Write a lineage to a file, without what it holds."),
        "ancestry": CommandEntry("ancestry", "Tell whether a snapshot descends from another."),
        "verify": CommandEntry("verify", "Check the lineage back to its first snapshot."),
    },
    "Prove": {
        "prove": CommandEntry("prove", "Prove to somebody without the brain what is in it."),
        "check-proof": CommandEntry("check_proof", "Check a proof, with no brain at hand."),
    },
    "Vouch": {
        "key": CommandEntry("key", "Make keys, and say whose signatures count."),
        "sign": CommandEntry("sign", "Sign a snapshot with one of your keys."),
    },
    "Commit to a ledger": {
        "chain": CommandEntry("chain", "Record snapshots where others can see them."),
        "config": CommandEntry("config", "Say which ledgers there are, and which model."),
    },
    "Branch and merge": {
        "branch": CommandEntry("branch", "List branches, make one, or remove one."),
        "switch": CommandEntry("switch", "Go on with another branch."),
        "merge": CommandEntry("merge", "Merge the work of another branch into this one."),
        "proposal": CommandEntry("proposal", "See what agents propose, and decide."),
        "fork": CommandEntry("fork", "Begin a brain of its own from a snapshot of this one."),
        "resolve": CommandEntry("resolve", "Decide conflicts of a merge, or list them."),
    },
    "Go back": {
        "restore": CommandEntry("restore", "Bring files back from a snapshot."),
        "undo": CommandEntry("undo", "Take back the last operation."),
        "redo": CommandEntry("redo", "Do again what was undone."),
        "op": CommandEntry("op", "Look at the operation log."),
    },
    "Forget": {
        "secrets": CommandEntry(
            "secrets", "Look for keys, tokens and passwords in what is recorded."
        ),
        "redact": CommandEntry("redact", "Destroy the content of a file for good."),
        "gc": CommandEntry("gc", "Remove what nothing needs any more, and give its space back."),
    },
    "Feed an agent": {
        "index": CommandEntry("index", "Print the Level-0 index: one line per skill."),
        "prompt": CommandEntry("prompt", "Print the system prompt."),
        "tools": CommandEntry("tools", "Give a model its tools, or call one yourself."),
        "mcp": CommandEntry("mcp", "Serve this brain to agents (MCP), or set a client up."),
    },
    "Learn": {
        "evolve": CommandEntry("evolve", "Learn from work that was done."),
    },
    "Help": {
        "demo": CommandEntry("demo", "Tell the whole story on an example."),
        "doctor": CommandEntry("doctor", "Check that this brain and this machine are in order."),
        "completion": CommandEntry("completion", "Print a completion script for a shell."),
    },
}

SKILL_COMMANDS: CommandTable = {
    "Write": {
        "upsert": CommandEntry("skill_upsert", "Create a skill, or raise it to its next version."),
        "revert": CommandEntry("skill_revert", "Bring back an earlier text as a new version."),
        "merge": CommandEntry("skill_merge", "Let one skill absorb another, which is removed."),
        "delete": CommandEntry("skill_delete", "Remove a skill; its history stays."),
    },
    "Read": {
        "list": CommandEntry("skill_list", "List the skills."),
        "view": CommandEntry("skill_view", "Print the body of a skill."),
        "history": CommandEntry("skill_history", "List the versions of a skill, newest first."),
        "similar": CommandEntry("skill_similar", "List the skills that one nearly duplicates."),
        "check": CommandEntry("skill_check", "Check skills against the rules of agentskills.io."),
    },
}

OP_COMMANDS: CommandTable = {
    "Read": {
        "log": CommandEntry("op_log", "List operations, newest first."),
    },
}

RECEIPT_COMMANDS: CommandTable = {
    "Look": {
        "show": CommandEntry("receipt_show", "Show what was done in a run, step by step."),
        "verify": CommandEntry(
            "receipt_verify", "Check that a receipt is what became of the brain."
        ),
    },
    "Take in": {
        "import": CommandEntry(
            "receipt_import", "Read the transcript of another program as a receipt."
        ),
    },
}

PROPOSAL_COMMANDS: CommandTable = {
    "Look": {
        "list": CommandEntry("proposal_list", "List what agents propose."),
        "show": CommandEntry("proposal_show", "Show what a proposal would change."),
    },
    "Decide": {
        "accept": CommandEntry("proposal_accept", "Merge what you looked at into this branch."),
        "reject": CommandEntry("proposal_reject", "Remove a proposal."),
    },
}

MCP_COMMANDS: CommandTable = {
    "Serve": {
        "serve": CommandEntry("mcp_serve", "Serve this brain to agents; meant without a word."),
    },
    "Set up": {
        "install": CommandEntry("mcp_install", "Enter this brain in the settings of a client."),
    },
}

KEY_COMMANDS: CommandTable = {
    "Own keys": {
        "new": CommandEntry("key_new", "Make a key of your own."),
        "list": CommandEntry("key_list", "List your own keys."),
    },
    "Trust": {
        "trust": CommandEntry("key_trust", "Let a key sign the snapshots of this brain."),
        "retire": CommandEntry("key_retire", "End the rights of a key; what it signed stays good."),
        "revoke": CommandEntry("key_revoke", "Let no signature of a key count any more."),
        "threshold": CommandEntry("key_threshold", "Say how many keys have to sign."),
        "trusted": CommandEntry("key_trusted", "List who may sign what comes next."),
        "roots": CommandEntry("key_roots", "Show or change the root keys pinned for this brain."),
        "repair": CommandEntry("key_repair", "Put the last good trust file back."),
        "accuse": CommandEntry("key_accuse", "Prove which keys signed two stories."),
    },
}

CHAIN_COMMANDS: CommandTable = {
    "Commit": {
        "open": CommandEntry("chain_open", "Make the first commitment of this brain in a ledger."),
        "commit": CommandEntry("chain_commit", "Record a snapshot in a ledger."),
        "batch": CommandEntry("chain_batch", "Commit many brains at once."),
    },
    "Check": {
        "status": CommandEntry("chain_status", "Show what a ledger holds of this brain."),
        "verify": CommandEntry(
            "chain_verify", "Check this brain against a ledger, and the ledger itself."
        ),
        "evidence": CommandEntry("chain_evidence", "Write a file that proves a commitment."),
        "check": CommandEntry(
            "chain_check", "Check such a file, with no brain and no node at hand."
        ),
        "checkpoint": CommandEntry(
            "chain_checkpoint", "Print what the log of this machine is now."
        ),
    },
    "On a chain": {
        "deploy": CommandEntry("chain_deploy", "Put the registry of brains on a chain."),
        "signer": CommandEntry("chain_signer", "Let another account commit this brain."),
        "transfer": CommandEntry("chain_transfer", "Offer this brain to another owner."),
        "accept": CommandEntry("chain_accept", "Take over a brain that was offered."),
        "authorize": CommandEntry(
            "chain_authorize", "Sign a commitment that somebody else may send."
        ),
        "relay": CommandEntry("chain_relay", "Send a commitment that was signed elsewhere."),
    },
}

CONFIG_COMMANDS: CommandTable = {
    "Ledgers": {
        "ledger": CommandEntry("config_ledger", "Add a ledger on a chain, or change one."),
        "list": CommandEntry("config_list", "List the ledgers."),
        "remove": CommandEntry("config_remove", "Forget a ledger."),
    },
    "Model": {
        "model": CommandEntry("config_model", "Say which model learns from runs."),
        "embedder": CommandEntry("config_embedder", "Say what tells which texts mean the same."),
    },
}

TOOLS_COMMANDS: CommandTable = {
    "Tools": {
        "list": CommandEntry("tools_list", "Print the tools that a model may be given."),
        "call": CommandEntry("tools_call", "Call a tool as a model does, with the same answers."),
    },
}

EVOLVE_COMMANDS: CommandTable = {
    "Runs": {
        "synthesize": CommandEntry("evolve_synthesize", "Make a skill of a run, or improve one."),
    },
}
