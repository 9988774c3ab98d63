"""A grind by the objects of Python: `python examples/grind/evolve.py [TASKS] [BATCHES]`."""

import sys
import tempfile
from pathlib import Path

from brain import Brain, evolve
from brain.solving.solver import SessionCommand

HERE = Path(__file__).parent


def main(tasks: Path, batches: int) -> None:
    """Grind so many batches of tasks in a scratch brain, and print what was learned."""
    grind = evolve.grind
    settings = grind.GrindSettings(
        batch_size=8, workers=2, task_skills="off", is_deterministic=True
    )
    with tempfile.TemporaryDirectory() as scratch, Brain.init(Path(scratch) / "learner") as brain:
        brain.files.edit("manifest.yaml", lambda _: b"evolution: {mode: gated}\n")
        evolver = grind.Evolver(
            brain,
            grind.Benchmark(tasks, holdout_ratio=0.2, split_seed=42),
            grind.Agent(SessionCommand((HERE / "learner.sh").read_text("utf-8"))),
            grind.Engine(SessionCommand((HERE / "evolver.sh").read_text("utf-8")), settings),
        )
        result = evolver.run(cycles=batches)
        print(f"final score {result.final_score:.3f}, converged: {result.converged}")
        for batch in result.report["batches"]:
            first, passed = batch["first_passed"], batch["passed"]
            print(f"batch {batch['number']}: {first} passed at once, {passed} in the end")
            if gate := batch["gate"]:
                print(f"  {gate['slug']} {gate['done']}: {gate['reason']}")


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "tasks"
    main(folder, int(sys.argv[2]) if len(sys.argv) > 2 else 2)
