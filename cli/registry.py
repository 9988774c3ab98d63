"""Every command: its module under `brain_cli.commands` and its summary.

The summaries stand here so that `brain --help` imports no command. They equal the
first line of each command's help; a test compares them.
"""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """A command: the module that holds it as `command`, and one line about it."""

    module: str
    summary: str


Table = dict[str, dict[str, Entry]]
"""Heading to name to entry, in the order in which help shows them."""

ROOT: Table = {
    "Record": {
        "init": Entry("init", "Make a brain of a folder."),
        "status": Entry("status", "Show what changed since the last snapshot."),
        "snapshot": Entry("snapshot", "Record the folder as it is."),
        "watch": Entry("watch", "Record what any program changes, as it changes."),
        "skill": Entry("skill", "Write, read and check skills."),
    },
    "Move in and out": {
        "adopt": Entry("adopt", "Make a brain of what another program keeps."),
        "publish": Entry("publish", "Write skills where another program reads them."),
    },
    "Look back": {
        "log": Entry("log", "List snapshots, newest first."),
        "show": Entry("show", "Show one snapshot."),
        "diff": Entry("diff", "Say what differs between two states."),
        "blame": Entry("blame", "Tell which snapshot wrote each line of a skill."),
        "bisect": Entry("bisect", "Find the snapshot that made a check fail."),
        "why": Entry("why", "Tell which work made each version of a skill."),
        "receipt": Entry("receipt", "See what agents did, and check that it is so."),
        "lineage": Entry("lineage", "Write a lineage to a file, without what it holds."),
        "ancestry": Entry("ancestry", "Tell whether a snapshot descends from another."),
        "verify": Entry("verify", "Check the lineage back to its first snapshot."),
    },
    "Prove": {
        "prove": Entry("prove", "Prove to somebody without the brain what is in it."),
        "check-proof": Entry("check_proof", "Check a proof, with no brain at hand."),
    },
    "Vouch": {
        "key": Entry("key", "Make keys, and say whose signatures count."),
        "sign": Entry("sign", "Sign a snapshot with one of your keys."),
    },
    "Commit to a ledger": {
        "chain": Entry("chain", "Record snapshots where others can see them."),
        "config": Entry("config", "Say which ledgers there are, and which model."),
    },
    "Branch and merge": {
        "branch": Entry("branch", "List branches, make one, or remove one."),
        "switch": Entry("switch", "Go on with another branch."),
        "merge": Entry("merge", "Merge the work of another branch into this one."),
        "proposal": Entry("proposal", "See what agents propose, and decide."),
        "fork": Entry("fork", "Begin a brain of its own from a snapshot of this one."),
        "resolve": Entry("resolve", "Decide conflicts of a merge, or list them."),
    },
    "Go back": {
        "restore": Entry("restore", "Bring files back from a snapshot."),
        "undo": Entry("undo", "Take back the last operation."),
        "redo": Entry("redo", "Do again what was undone."),
        "op": Entry("op", "Look at the operation log."),
    },
    "Forget": {
        "secrets": Entry("secrets", "Look for keys, tokens and passwords in what is recorded."),
        "redact": Entry("redact", "Destroy the content of a file for good."),
        "gc": Entry("gc", "Remove what nothing needs any more, and give its space back."),
    },
    "Feed an agent": {
        "index": Entry("index", "Print the Level-0 index: one line per skill."),
        "prompt": Entry("prompt", "Print the system prompt."),
        "tools": Entry("tools", "Give a model its tools, or call one yourself."),
        "mcp": Entry("mcp", "Serve this brain to agents (MCP), or set a client up."),
    },
    "Learn": {
        "evolve": Entry("evolve", "Learn from work that was done."),
    },
    "Help": {
        "demo": Entry("demo", "Tell the whole story on an example."),
        "doctor": Entry("doctor", "Check that this brain and this machine are in order."),
        "completion": Entry("completion", "Print a completion script for a shell."),
    },
}

SKILL: Table = {
    "Write": {
        "upsert": Entry("skill_upsert", "Create a skill, or raise it to its next version."),
        "revert": Entry("skill_revert", "Bring back an earlier text as a new version."),
        "merge": Entry("skill_merge", "Let one skill absorb another, which is removed."),
        "delete": Entry("skill_delete", "Remove a skill; its history stays."),
    },
    "Read": {
        "list": Entry("skill_list", "List the skills."),
        "view": Entry("skill_view", "Print the body of a skill."),
        "history": Entry("skill_history", "List the versions of a skill, newest first."),
        "similar": Entry("skill_similar", "List the skills that one nearly duplicates."),
        "check": Entry("skill_check", "Check skills against the rules of agentskills.io."),
    },
}

OP: Table = {
    "Read": {
        "log": Entry("op_log", "List operations, newest first."),
    },
}

RECEIPT: Table = {
    "Look": {
        "show": Entry("receipt_show", "Show what was done in a run, step by step."),
        "verify": Entry("receipt_verify", "Check that a receipt is what became of the brain."),
    },
    "Take in": {
        "import": Entry("receipt_import", "Read the transcript of another program as a receipt."),
    },
}

PROPOSAL: Table = {
    "Look": {
        "list": Entry("proposal_list", "List what agents propose."),
        "show": Entry("proposal_show", "Show what a proposal would change."),
    },
    "Decide": {
        "accept": Entry("proposal_accept", "Merge what you looked at into this branch."),
        "reject": Entry("proposal_reject", "Remove a proposal."),
    },
}

MCP: Table = {
    "Serve": {
        "serve": Entry("mcp_serve", "Serve this brain to agents; meant without a word."),
    },
    "Set up": {
        "install": Entry("mcp_install", "Enter this brain in the settings of a client."),
    },
}

KEY: Table = {
    "Own keys": {
        "new": Entry("key_new", "Make a key of your own."),
        "list": Entry("key_list", "List your own keys."),
    },
    "Trust": {
        "trust": Entry("key_trust", "Let a key sign the snapshots of this brain."),
        "retire": Entry("key_retire", "End the rights of a key; what it signed stays good."),
        "revoke": Entry("key_revoke", "Let no signature of a key count any more."),
        "threshold": Entry("key_threshold", "Say how many keys have to sign."),
        "trusted": Entry("key_trusted", "List who may sign what comes next."),
        "roots": Entry("key_roots", "Show or change the root keys pinned for this brain."),
        "repair": Entry("key_repair", "Put the last good trust file back."),
        "accuse": Entry("key_accuse", "Prove which keys signed two stories."),
    },
}

CHAIN: Table = {
    "Commit": {
        "open": Entry("chain_open", "Make the first commitment of this brain in a ledger."),
        "commit": Entry("chain_commit", "Record a snapshot in a ledger."),
        "batch": Entry("chain_batch", "Commit many brains at once."),
    },
    "Check": {
        "status": Entry("chain_status", "Show what a ledger holds of this brain."),
        "verify": Entry(
            "chain_verify", "Check this brain against a ledger, and the ledger itself."
        ),
        "evidence": Entry("chain_evidence", "Write a file that proves a commitment."),
        "check": Entry("chain_check", "Check such a file, with no brain and no node at hand."),
        "checkpoint": Entry("chain_checkpoint", "Print what the log of this machine is now."),
    },
    "On a chain": {
        "deploy": Entry("chain_deploy", "Put the registry of brains on a chain."),
        "signer": Entry("chain_signer", "Let another account commit this brain."),
        "transfer": Entry("chain_transfer", "Offer this brain to another owner."),
        "accept": Entry("chain_accept", "Take over a brain that was offered."),
        "authorize": Entry("chain_authorize", "Sign a commitment that somebody else may send."),
        "relay": Entry("chain_relay", "Send a commitment that was signed elsewhere."),
    },
}

CONFIG: Table = {
    "Ledgers": {
        "ledger": Entry("config_ledger", "Add a ledger on a chain, or change one."),
        "list": Entry("config_list", "List the ledgers."),
        "remove": Entry("config_remove", "Forget a ledger."),
    },
    "Model": {
        "model": Entry("config_model", "Say which model learns from runs."),
        "embedder": Entry("config_embedder", "Say what tells which texts mean the same."),
    },
}

TOOLS: Table = {
    "Tools": {
        "list": Entry("tools_list", "Print the tools that a model may be given."),
        "call": Entry("tools_call", "Call a tool as a model does, with the same answers."),
    },
}

EVOLVE: Table = {
    "Runs": {
        "synthesize": Entry("evolve_synthesize", "Make a skill of a run, or improve one."),
    },
}
