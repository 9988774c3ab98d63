"""Version control for the brain of an AI agent: its skills, memory and prompts.

    from brain import Brain

    with Brain.open("my-agent") as brain:
        brain.skills.upsert("Oracle manipulation", "Check freshness first.\\n")

The names below are loaded when they are first used, so that `import brain` costs
next to nothing and a program pays only for the parts it calls.
"""

from __future__ import annotations

from ._version import __version__

TYPE_CHECKING = False  # as type checkers see it; importing typing costs more than all of this
if TYPE_CHECKING:
    from typing import Any

    from .api.brain import Brain
    from .chain.evidence.offline_check import check_evidence
    from .errors import (
        BrainError,
        Conflict,
        FormatError,
        InvalidInput,
        LedgerError,
        Locked,
        ModelError,
        NoBrain,
        NotAdmitted,
        NotFound,
        NotVouched,
        ProofError,
        SandboxError,
        StoreError,
        ToolFailure,
        VerificationFailed,
    )
    from .proofs.check import check_proof
    from .repo.ledgers.commit_batch import commit_batch
    from .repo.session import find_brain

__all__ = [
    "Brain",
    "BrainError",
    "Conflict",
    "FormatError",
    "InvalidInput",
    "LedgerError",
    "Locked",
    "ModelError",
    "NoBrain",
    "NotAdmitted",
    "NotFound",
    "NotVouched",
    "ProofError",
    "SandboxError",
    "StoreError",
    "ToolFailure",
    "VerificationFailed",
    "__version__",
    "check_evidence",
    "check_proof",
    "commit_batch",
    "find_brain",
]

_HOMES = {
    "Brain": ".api.brain",
    "check_evidence": ".chain.evidence.offline_check",
    "check_proof": ".proofs.check",
    "commit_batch": ".repo.ledgers.commit_batch",
    "find_brain": ".repo.session",
}


def __getattr__(name: str) -> Any:
    """Load a public name from its module and keep it (PEP 562)."""
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES.get(name, ".errors"), __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Name what can be imported, loaded or not."""
    return sorted(__all__)
