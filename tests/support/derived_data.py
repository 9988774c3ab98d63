"""A brain with derived data of every kind, the questions answered from it, and its caches."""

from collections.abc import Callable
from pathlib import Path

from brain import Brain, BrainError
from brain.repo import derive, lineage_cache

SLUGS = ("alpha", "beta", "gamma", "real-name", "gone", "idea", "s3")
"""Skills that the questions are about."""
AUTHOR = "tester"
BULK_THRESHOLD = 3
"""From so many skills on a snapshot of that brain is told in one row."""


def open_brain(root: Path) -> Brain:
    """Open a brain as its user does."""
    return Brain.open(root, author=AUTHOR)


def make_brain(root: Path) -> None:
    """Make a brain: skills that were added, upgraded, renamed, removed, merged, and many at once.

    The most that is told one by one of a snapshot is lowered meanwhile.
    """
    usual, derive.MIN_BULK_PATHS = derive.MIN_BULK_PATHS, BULK_THRESHOLD
    try:
        _make_history(root)
    finally:
        derive.MIN_BULK_PATHS = usual


def _make_history(root: Path) -> None:
    with Brain.init(root, name="agent", author=AUTHOR) as brain:
        for name in ("Alpha", "Beta", "Gamma", "Gone"):
            brain.skills.upsert(name, f"Do {name}.\n", description=f"About {name} and penguins")
        brain.skills.upsert("Alpha", "Do it better.\n")
        brain.skills.upsert("Alpha", "Do it best.\n", description="About whales")
        brain.skills.delete("gone")
        _write_skill_file(root, "skills/folder/SKILL.md", "Real name")
        _write_skill_file(root, "skills/group/loose.md", "Loose")
        _write_skill_file(root, "memory/notes.md", "Notes")
        (root / "prompts/system.md").write_text("You are careful.\n")
        brain.snapshot("By hand")
        for number in range(6):
            _write_skill_file(root, f"skills/many/s{number}.md", f"s{number}")
        brain.snapshot("Many at once")
        brain.branches.create("idea")
        brain.branches.switch("idea")
        brain.skills.upsert("Idea", "Try it.\n", description="An idea")
        brain.skills.upsert("Beta", "Do Beta on the branch.\n")
        brain.branches.switch("main")
        brain.skills.upsert("Gamma", "Do Gamma here.\n")
        brain.merge.start("idea")
        brain.skills.delete("s5")


def _write_skill_file(root: Path, path: str, name: str) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"---\nname: {name}\ndescription: About {name}\nversion: 3\n---\nDo.\n")


Question = Callable[[Brain], object]


def _ask_history(slug: str) -> Question:
    return lambda brain: brain.skills.history(slug)


def _ask_view(slug: str) -> Question:
    return lambda brain: brain.skills.view(slug)


def _ask_select(brain: Brain, task: str) -> list[tuple[str, float]]:
    return [(one.slug, round(one.score, 6)) for one in brain.skills.select(task)]


QUESTIONS: dict[str, Question] = {
    "index": lambda brain: brain.prompt.build_index().index,
    "index of before": lambda brain: brain.prompt.build_index("@~3").index,
    "index for a task": lambda brain: brain.prompt.build_index(task="count penguins", top=2).index,
    "prompt": lambda brain: brain.prompt.build().prompt,
    "prompt for a task": lambda brain: brain.prompt.build(task="whales").prompt,
    "skills": lambda brain: brain.skills.list(),
    "skills of before": lambda brain: brain.skills.list("@~5"),
    "select": lambda brain: (_ask_select(brain, "penguins"), _ask_select(brain, "whales")),
    "log": lambda brain: list(brain.history.log()),
    "show": lambda brain: brain.history.show("@~2"),
    "diff": lambda brain: brain.history.diff("@~4", "@"),
    "blame": lambda brain: brain.history.blame("alpha"),
    "status": lambda brain: brain.status(),
    "files": lambda brain: brain.files.list(),
    "merges": lambda brain: sorted(lineage_cache.list_merges(brain._session)),
    **{f"view {slug}": _ask_view(slug) for slug in SLUGS if slug != "gone"},
    **{f"history of {slug}": _ask_history(slug) for slug in SLUGS},
}
"""What is answered from derived data, wholly or in part, by name."""


def answer_all_questions(root: Path) -> dict[str, object]:
    """Return all answers of a brain that is opened for this; an error is an answer too."""
    with open_brain(root) as brain:
        return {name: _answer(ask, brain) for name, ask in QUESTIONS.items()}


def _answer(ask: Question, brain: Brain) -> object:
    try:
        return ask(brain)
    except BrainError as error:
        return error.code


def cache_folder(brain: Brain) -> Path:
    """Return the folder of the user's cache of an open brain."""
    folder = brain._session.cache.folder
    assert folder is not None
    return Path(folder)


def drop_memory_cache(brain: Brain) -> None:
    """Let an open brain go on with an empty cache in memory, as if its file had been lost."""
    brain._session.use_memory_cache()
