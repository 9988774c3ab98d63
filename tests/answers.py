"""A brain with something of everything that is derived, and all that it can be asked about it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from brain import Brain
from brain.actions import derived, lineage_cache

SLUGS = ("alpha", "beta", "gamma", "real-name", "gone", "idea", "s3")
"""Skills that the questions are about."""
AUTHOR = "tester"
MANY = 3
"""From so many skills on a snapshot of that brain is told in one row."""


def opened(root: Path) -> Brain:
    """Open a brain as its user does."""
    return Brain.open(root, author=AUTHOR)


def grow(root: Path) -> None:
    """Make a brain: skills that were added, upgraded, renamed, removed, merged, and many at once.

    The most that is told one by one of a snapshot is lowered meanwhile.
    """
    usual, derived.BULK = derived.BULK, MANY
    try:
        _grow(root)
    finally:
        derived.BULK = usual


def _grow(root: Path) -> None:
    with Brain.init(root, name="agent", author=AUTHOR) as brain:
        for name in ("Alpha", "Beta", "Gamma", "Gone"):
            brain.upsert_skill(name, f"Do {name}.\n", description=f"About {name} and penguins")
        brain.upsert_skill("Alpha", "Do it better.\n")
        brain.upsert_skill("Alpha", "Do it best.\n", description="About whales")
        brain.delete_skill("gone")
        _write(root, "skills/folder/SKILL.md", "Real name")
        _write(root, "skills/group/loose.md", "Loose")
        _write(root, "memory/notes.md", "Notes")
        (root / "prompts/system.md").write_text("You are careful.\n")
        brain.snapshot("By hand")
        for number in range(6):
            _write(root, f"skills/many/s{number}.md", f"s{number}")
        brain.snapshot("Many at once")
        brain.create_branch("idea")
        brain.switch("idea")
        brain.upsert_skill("Idea", "Try it.\n", description="An idea")
        brain.upsert_skill("Beta", "Do Beta on the branch.\n")
        brain.switch("main")
        brain.upsert_skill("Gamma", "Do Gamma here.\n")
        brain.merge("idea")
        brain.delete_skill("s5")


def _write(root: Path, path: str, name: str) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"---\nname: {name}\ndescription: About {name}\nversion: 3\n---\nDo.\n")


Question = Callable[[Brain], object]


def _history(slug: str) -> Question:
    return lambda brain: brain.skill_history(slug)


def _view(slug: str) -> Question:
    return lambda brain: brain.view_skill(slug)


def _chosen(brain: Brain, task: str) -> list[tuple[str, float]]:
    return [(one.slug, round(one.score, 6)) for one in brain.select(task)]


QUESTIONS: dict[str, Question] = {
    "index": lambda brain: brain.index().index,
    "index of before": lambda brain: brain.index("@~3").index,
    "index for a task": lambda brain: brain.index(task="count penguins", top=2).index,
    "prompt": lambda brain: brain.prompt().prompt,
    "prompt for a task": lambda brain: brain.prompt(task="whales").prompt,
    "skills": lambda brain: brain.skills(),
    "skills of before": lambda brain: brain.skills("@~5"),
    "select": lambda brain: (_chosen(brain, "penguins"), _chosen(brain, "whales")),
    "log": lambda brain: list(brain.log()),
    "show": lambda brain: brain.show("@~2"),
    "diff": lambda brain: brain.diff("@~4", "@"),
    "blame": lambda brain: brain.blame("alpha"),
    "status": lambda brain: brain.status(),
    "files": lambda brain: brain.files(),
    "merges": lambda brain: sorted(lineage_cache.merges(brain._session)),
    **{f"view {slug}": _view(slug) for slug in SLUGS if slug != "gone"},
    **{f"history of {slug}": _history(slug) for slug in SLUGS},
}
"""What is answered from derived data, wholly or in part, by name."""


def answers(root: Path) -> dict[str, object]:
    """Return all answers of a brain that is opened for this."""
    with opened(root) as brain:
        return {name: ask(brain) for name, ask in QUESTIONS.items()}
