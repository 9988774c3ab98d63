"""Seeded bugs: plausible mistakes in BrainRegistry.sol that each break a right."""

from typing import NamedTuple


class SeededBug(NamedTuple):
    """Replacements of text, which random calls beside the model must notice."""

    name: str
    changes: dict[str, str]

    def apply(self, source: str) -> str:
        """Return the source with the bug. Each text to replace has to stand there once."""
        for right, wrong in self.changes.items():
            if source.count(right) != 1:
                raise ValueError(f"'{self.name}' replaces what is not in the source once: {right}")
            source = source.replace(right, wrong)
        return source


_COMMIT_FIELDS = "abi.encode(COMMIT_TYPE, id, snapshot, parent, seq + 1, brain_.epoch, deadline)"
_LATE = "if (block.timestamp > deadline) revert Expired();\n        "
_LATE_COMMIT = f"{_LATE}Brain storage brain_ = _brains[id];\n        uint64"
_MAY_COMMIT = "if (msg.sender != owner && msg.sender != brain_.signer) revert Unauthorized();"
_NO_OFFER = "brain_.offerEnds = 0;\n        "
_IS_EITHER = "if (by != address(0) && (by == owner || by == signer)) return by;"
_AUTHOR_OPENS = (
    "if (_author(owner, address(0), digest, signature) == address(0)) revert Unauthorized();"
)
_AUTHOR_SETS = "if (_author(brain_.owner, address(0), digest, signature) == address(0)) {"
_IS_OWNER = "if (msg.sender != brain_.owner) revert Unauthorized();"

# By the right that they break: commits, permits, opening, the signer, wallets, disowning, offers,
# anchors.
SEEDED_BUGS = (
    SeededBug("anybody commits", {_MAY_COMMIT: "owner;"}),
    SeededBug(
        "a commitment needs no parent",
        {"if (head != parent) revert StaleParent(head, seq);": "head; parent; seq;"},
    ),
    SeededBug(
        "the number stays", {"brain_.seq = seq;\n        emit Committed(": "emit Committed("}
    ),
    SeededBug(
        "a permit names no epoch",
        {_COMMIT_FIELDS: _COMMIT_FIELDS.replace("brain_.epoch", "uint64(0)")},
    ),
    SeededBug(
        "a permit names no number", {_COMMIT_FIELDS: _COMMIT_FIELDS.replace("seq + 1", "uint64(2)")}
    ),
    SeededBug(
        "the deadline is not signed",
        {_COMMIT_FIELDS: _COMMIT_FIELDS.replace("deadline", "uint64(0)")},
    ),
    SeededBug(
        "a permit is for every chain",
        {"VERSION_HASH, block.chainid, address(this)": "VERSION_HASH, uint256(1), address(this)"},
    ),
    SeededBug(
        "a permit is for every contract",
        {"VERSION_HASH, block.chainid, address(this)": "VERSION_HASH, block.chainid, address(0)"},
    ),
    SeededBug(
        "a permit to commit does not expire", {_LATE_COMMIT: _LATE_COMMIT.removeprefix(_LATE)}
    ),
    SeededBug(
        "a commitment by permit is told to be by the payer",
        {"seq + 1, by);": "seq + 1, msg.sender);"},
    ),
    SeededBug(
        "a brain is opened for another without a permit",
        {
            _AUTHOR_OPENS: _AUTHOR_OPENS.removeprefix("if (").replace(
                " == address(0)) revert Unauthorized()", ""
            )
        },
    ),
    SeededBug(
        "a brain opened by permit belongs to the payer",
        {"return _open(owner, salt, snapshot);": "return _open(msg.sender, salt, snapshot);"},
    ),
    SeededBug("a brain is opened twice", {"if (brain_.owner != address(0)) revert Exists();": ""}),
    SeededBug(
        "the signer permits a change of the signer",
        {_AUTHOR_SETS: _AUTHOR_SETS.replace("address(0), digest", "brain_.signer, digest")},
    ),
    SeededBug(
        "a change of the signer keeps the epoch",
        {"uint64 epoch = brain_.epoch + 1;": "uint64 epoch = brain_.epoch;"},
    ),
    SeededBug(
        "both halves of s are taken", {"if (uint256(s) > HALF_ORDER) return address(0);": ""}
    ),
    SeededBug(
        "a signature of nobody is one of no signer",
        {_IS_EITHER: "if (by == owner || by == signer) return address(1);"},
    ),
    SeededBug(
        "a wallet accepts with any word that begins well",
        {"eq(mload(0), yes)": "eq(shr(224, mload(0)), shr(224, yes))"},
    ),
    SeededBug(
        "the signer does all that the owner may",
        {_IS_OWNER: _IS_OWNER.replace(") revert", " && msg.sender != brain_.signer) revert")},
    ),
    SeededBug(
        "the first commitment is disowned",
        {"if (since < 2 || since > seq)": "if (since < 1 || since > seq)"},
    ),
    SeededBug(
        "more is disowned than was seen",
        {"_check(brain_, snapshot, head, seq);\n        if (since": "if (since"},
    ),
    SeededBug(
        "what is disowned is kept under another number",
        {"_disowned[id][seq + 1] = since;": "_disowned[id][seq] = since;"},
    ),
    SeededBug(
        "the signer outlives a supersession",
        {"_changeSigner(brain_, id, address(0), seq);\n        _advance": "_advance"},
    ),
    SeededBug(
        "the signer outlives a transfer",
        {f"{_NO_OFFER}_changeSigner(brain_, id, address(0), seq);": _NO_OFFER},
    ),
    SeededBug(
        "an offer does not end", {"if (block.timestamp > brain_.offerEnds) revert Expired();": ""}
    ),
    SeededBug(
        "anybody accepts an offer",
        {"if (msg.sender != brain_.offeredTo) revert Unauthorized();": ""},
    ),
    SeededBug("an offer is accepted twice", {"brain_.offeredTo = address(0);\n": ""}),
    SeededBug(
        "an anchor is kept by its log alone",
        {
            "_anchors[msg.sender][log]": "_anchors[address(0)][log]",
            "return _anchors[account][log];": "account;\n        return _anchors[address(0)][log];",
        },
    ),
)
