"""The grind: solve a task, evolve the workspace after a failure, and try the same task again.

    from brain import Brain, evolve

    with Brain.open("my-agent") as brain:
        agent, engine = evolve.grind.Agent(solver), evolve.grind.Engine(evolver)
        tasks = evolve.grind.Benchmark("tasks")
        result = evolve.grind.Evolver(brain, tasks, agent, engine).run(cycles=10)

The names below are loaded when they are first used.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .api import Agent as Agent
    from .api import Benchmark as Benchmark
    from .api import Engine as Engine
    from .api import Evolved as Evolved
    from .api import Evolver as Evolver
    from .api import Gating as Gating
    from .api import run_grind as run_grind
    from .settings import GrindSettings as GrindSettings
    from .settings import compute_egl as compute_egl
    from .settings import is_converged as is_converged

_OF_API = ("Agent", "Benchmark", "Engine", "Evolved", "Evolver", "Gating", "run_grind")
_HOMES = {
    **dict.fromkeys(_OF_API, ".api"),
    **dict.fromkeys(("GrindSettings", "compute_egl", "is_converged"), ".settings"),
}


def __getattr__(name: str) -> Any:
    """Load a public name from its module and keep it (PEP 562)."""
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_HOMES[name], __name__), name)
    return found
