"""Ranks the skills of public collections for labelled tasks, and prints each selector's recall.

    python -m tests.campaigns.selection FOLDER [--base-url URL --model NAME | --model FOLDER]

FOLDER holds collections: OWNER+NAME is a checkout of https://github.com/OWNER/NAME. All skills
below it are ranked, those of equal name and bytes once. Tasks whose skill is not there are left
out. Each line of `selection_tasks.txt` is a task: the folder of its skill, a kind (`TASK_KINDS`,
followed by m if it is misspelled and by l if it is not in English), slugs of other skills that are
as right (- if none), and the words. Skills of the same slug are as right, too.

Settings may be chosen with the tuning half; the unseen half decides. A skill is in one of them by
the digest of its path.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from brain.digest import blob_id
from brain.search.keyword_score import KeywordSelector
from brain.search.selector import RankedSkill, SearchDocument, Selector
from brain.skills.skill_metadata import read_skill_metadata
from tests.support.search.labelled_skills import LabelledSet
from tests.support.search.measure_selectors import (
    make_bm25_selector,
    make_catalogue,
    make_model_selectors,
    open_embedder,
)

TASK_FILE = Path(__file__).with_name("selection_tasks.txt")
TASK_KINDS = {"n": "product named", "o": "other words", "p": "paraphrase"}
HALVES = ("tuning", "unseen")
DEPTH = 100
"""Places that are looked at."""
RESAMPLES = 5_000
RECALL_PLACES = (1, 5, 10)


class SelectionTask(NamedTuple):
    """What a user asks; `path` is the folder of the skill that it was written for."""

    path: str
    kind: str
    others: frozenset[str]
    text: str

    @property
    def right_slugs(self) -> frozenset[str]:
        """The slugs of all skills that are right, in lower case."""
        return self.others | {self.path.rpartition("/")[2].lower()}

    @property
    def half(self) -> str:
        """Whether the task may be used for tuning."""
        return HALVES[sha256(self.path.encode()).digest()[0] & 1]


def read_tasks(file: Path = TASK_FILE) -> list[SelectionTask]:
    """Return the labelled tasks, in order."""
    tasks = []
    for line in file.read_text("utf-8").splitlines():
        path, kind, others, text = line.split(" | ", 3)
        tasks.append(SelectionTask(path, kind, frozenset(others.split()), text))
    return tasks


def read_skills(folder: Path) -> dict[str, SearchDocument]:
    """Return the skills below `folder` by their own folder, those of equal name and bytes once.

    The name of the collection is no part of a document's path, since nobody adopts it.
    """
    found: dict[str, SearchDocument] = {}
    known: set[tuple[str, bytes]] = set()
    collections = sorted(path for path in folder.iterdir() if path.is_dir())
    for number, collection in enumerate(collections):
        for file in sorted(collection.rglob("*.md")):
            if file.name.lower() != "skill.md" or not file.is_file():
                continue
            content, home = file.read_bytes(), file.parent
            blob, slug = blob_id(content), home.name
            if (slug, blob) not in known:
                known.add((slug, blob))
                one = read_skill_metadata(content, slug)
                path = f"c{number}/{home.relative_to(collection).as_posix()}/SKILL.md"
                found[home.relative_to(folder).as_posix()] = SearchDocument(
                    path, slug, one.name, one.description, blob
                )
    return found


def first_right_place(ranked: Sequence[RankedSkill], task: SelectionTask) -> int:
    """Return the place of the first skill that is right, 0 if none is there."""
    right = task.right_slugs
    return next((n for n, one in enumerate(ranked, 1) if one.slug.lower() in right), 0)


def summarize(places: Sequence[int]) -> dict[str, float]:
    """Return recall at `RECALL_PLACES` and the mean reciprocal rank."""
    made = {
        f"recall@{top}": sum(0 < place <= top for place in places) / len(places)
        for top in RECALL_PLACES
    }
    return made | {"MRR": sum(1 / place for place in places if place) / len(places)}


def bootstrap_difference(first: Sequence[int], second: Sequence[int]) -> tuple[float, float, float]:
    """Return by how much the reciprocal ranks of `first` are above those of `second`, in the mean.

    With it comes its 95 % interval, from paired resampling of tasks.
    """
    differences = [
        (1 / one if one else 0.0) - (1 / other if other else 0.0)
        for one, other in zip(first, second, strict=True)
    ]
    rng, count = random.Random(7), len(differences)
    means = sorted(sum(rng.choices(differences, k=count)) / count for _ in range(RESAMPLES))
    low, high = means[RESAMPLES // 40], means[-RESAMPLES // 40]
    return sum(differences) / count, low, high


def report(
    tasks: Sequence[SelectionTask], places: dict[str, list[int]], half: str
) -> Iterator[str]:
    """Yield the lines about one half: a table, and how hybrid compares with the others."""
    groups = {
        name: [n for n, task in enumerate(tasks) if task.half == half and task.kind[0] in kinds]
        for kinds, name in {"nop": "all", **TASK_KINDS}.items()
    }
    groups = {name: members for name, members in groups.items() if members}
    columns = [f"{name} ({len(members)})" for name, members in groups.items()]
    yield f"| {half} half: recall@1 / @5 / @10, MRR | {' | '.join(columns)} |"
    yield "|---|" + "---|" * len(columns)
    for selector, found in places.items():
        cells = []
        for members in groups.values():
            *recall, mrr = summarize([found[n] for n in members]).values()
            cells.append(f"{' / '.join(f'{one:.2f}' for one in recall)}, {mrr:.3f}")
        yield f"| {selector} | {' | '.join(cells)} |"
    for other in ("embedding", "bm25") if "hybrid" in places else ():
        cells = []
        for members in groups.values():
            pair = [[places[name][n] for n in members] for name in ("hybrid", other)]
            mean, low, high = bootstrap_difference(*pair)
            cells.append(f"{mean:+.3f} ({low:+.3f} to {high:+.3f})")
        yield f"| MRR: hybrid over {other} | {' | '.join(cells)} |"


def main() -> None:
    """Measure the folder that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--base-url", default="")
    parser.add_argument("--model", default="")
    options = parser.parse_args()
    skills = read_skills(options.folder)
    slugs = {one.slug.lower() for one in skills.values()}
    labelled = read_tasks()
    tasks = [task for task in labelled if task.path.rpartition("/")[2].lower() in slugs]
    print(f"{len(skills)} skills, {len(tasks)} of {len(labelled)} tasks")
    print(dict(Counter(task.kind for task in tasks)))
    catalogued = LabelledSet([(one, "") for one in skills.values()], [])
    selectors: dict[str, Selector] = {
        "keyword": KeywordSelector(make_catalogue(catalogued)),
        "bm25": make_bm25_selector(catalogued),
    }
    if options.model:
        embedder = open_embedder(options.model, options.base_url)
        selectors |= make_model_selectors(catalogued, embedder)
    places = {
        name: [first_right_place(selector.rank(task.text, DEPTH), task) for task in tasks]
        for name, selector in selectors.items()
    }
    for half in HALVES:
        print("", *report(tasks, places, half), sep="\n")


if __name__ == "__main__":
    main()
