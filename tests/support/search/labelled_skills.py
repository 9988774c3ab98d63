"""The labelled set: skills, tasks that each need one of them, and near-duplicates of the skills.

A line of `skills_*.txt` is a skill: slug, description, body, and its tasks, each with the
letter of its kind. `tasks.txt` has more of them. Some tasks are once more there with
mistakes of typing, which a seeded generator made.
"""

import random
import re
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from brain.digest import blob_id
from brain.search import similarity
from brain.search.selectors import Bm25Selector, SearchDocument

TASK_KINDS = {
    "t": "as one gives work to an agent",
    "s": "a situation, in other words than the skill has",
    "m": "misspelled",
}
DATA_FOLDER = Path(__file__).parent
MISTYPED_TASK_COUNT = 60
"""Tasks of kind t that are there again with mistakes."""
_LONG_WORD = re.compile(r"[a-z]{5,}")


class LabelledTask(NamedTuple):
    """What somebody asks, the kind of it, and the slug of the skill it needs."""

    kind: str
    text: str
    slug: str


class LabelledSet(NamedTuple):
    """Skills, each with its body, and tasks."""

    skills: list[tuple[SearchDocument, str]]
    tasks: list[LabelledTask]

    @property
    def documents(self) -> list[SearchDocument]:
        """The skills without their bodies."""
        return [document for document, _ in self.skills]


@cache
def load_labelled_set() -> LabelledSet:
    """Return the whole set."""
    made = LabelledSet([], [])
    for file in sorted(DATA_FOLDER.glob("skills_*.txt")):
        for line in file.read_text("utf-8").splitlines():
            slug, description, body, *tasks = line.split(" | ")
            blob = blob_id(f"{slug}\n{description}\n{body}".encode())
            document = SearchDocument(f"{slug}/SKILL.md", slug, slug, description, blob)
            made.skills.append((document, body))
            made.tasks.extend(_make_task(task, slug) for task in tasks)
    for line in (DATA_FOLDER / "tasks.txt").read_text("utf-8").splitlines():
        slug, text = line.split(" | ")
        made.tasks.append(LabelledTask("t", text, slug))
    made.tasks.extend(_make_mistyped_tasks([task for task in made.tasks if task.kind == "t"]))
    return made


def _make_task(text: str, slug: str) -> LabelledTask:
    kind, _, asked = text.partition(":")
    return LabelledTask(kind, asked, slug)


def _make_mistyped_tasks(tasks: list[LabelledTask]) -> list[LabelledTask]:
    rng = random.Random(20_261)
    some = rng.sample(tasks, MISTYPED_TASK_COUNT)
    made = [task._replace(kind="m", text=_mistype(task.text, rng)) for task in some]
    return [new for new, old in zip(made, some, strict=True) if new.text != old.text]


def _mistype(text: str, rng: random.Random) -> str:
    """Return a text with one mistake in half of its longer words."""

    def wrong(found: re.Match[str]) -> str:
        word = found[0]
        if rng.random() < 0.5:
            return word
        at = rng.randrange(1, len(word) - 1)
        kind = rng.choice(("drop", "double", "swap", "other"))
        if kind == "drop":
            return word[:at] + word[at + 1 :]
        if kind == "double":
            return word[:at] + word[at] + word[at:]
        if kind == "swap":
            return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
        return word[:at] + rng.choice("aeiourstln") + word[at + 1 :]

    return _LONG_WORD.sub(wrong, text)


NEAR_DUPLICATES = [
    line.split(" | ")
    for line in """
pdf-form-filling | fill-pdf-forms | Filling in PDF form fields from JSON data.
pdf-merge-split | split-and-merge-pdfs | Join PDF files or cut one by page ranges.
pdf-ocr | ocr-scanned-pdfs | Make scans searchable by text recognition.
pdf-compression | compress-pdf | Shrink PDF files by recompressing their images.
excel-from-csv | csv-to-excel | Turn CSV files into formatted Excel workbooks.
excel-pivot-reports | pivot-tables-in-excel | Summaries of transactions with pivot tables.
csv-cleaning | clean-csv-files | Fix CSV files with bad quoting and encoding.
date-parsing | parse-dates | Parsing dates and times in any format and zone.
regex-building | regular-expressions | Write regular expressions and test cases for them.
git-bisect | bisecting-bugs-with-git | Use binary search over commits to find a bug.
git-secrets-removal | remove-secrets-from-git | Erase leaked credentials from repository history.
commit-messages | writing-commit-messages | How to write good commit messages.
code-review | reviewing-pull-requests | Review pull requests: correctness, design, tests.
release-notes | changelog-writing | Write changelogs and release notes from changes.
docker-image-slimming | slim-docker-images | Smaller container images by multi-stage builds.
docker-debugging | debug-containers | Debug containers which crash or restart.
kubernetes-pod-debugging | debug-kubernetes-pods | Why pods crash, are pending or evicted.
helm-charts | writing-helm-charts | Helm charts that are maintainable.
python-packaging | packaging-python | Build wheels of Python projects with pyproject.
python-profiling | profile-python-code | Find slow parts of Python programs.
python-async | async-python | Asynchronous Python: tasks and cancellation.
react-components | building-react-components | Accessible components in React, with hooks.
web-scraping | scrape-websites | Collecting data from websites in a polite way.
sql-query-tuning | slow-query-tuning | Use plans and indexes to make SQL queries fast.
sql-schema-design | relational-schema-design | Design tables with keys and normal forms.
redis-caching | caching-with-redis | Redis as a cache: expiry, invalidation.
api-design-rest | rest-api-design | Design of REST APIs: resources, versions, errors.
oauth-login | login-with-oauth | OAuth 2 and OpenID Connect for login.
rate-limiting | limit-request-rates | Fair limits of requests for each client.
load-testing | load-tests | Measure services under load.
flaky-test-hunting | fix-flaky-tests | Tests that fail at random, and how to fix them.
postmortem-writing | blameless-postmortems | Write postmortems without blame, with actions.
log-analysis | analyse-logs | Search logs and summarise them to find a cause.
ssh-hardening | harden-ssh | Secure configuration of SSH with keys.
tls-certificates | certificate-renewal | Issue and renew TLS certificates.
bash-scripting | robust-shell-scripts | Shell scripts that are robust.
meeting-minutes | minutes-of-meetings | Minutes and actions from recorded meetings.
survey-design | questionnaire-design | Questionnaires without bias.
readme-writing | write-a-readme | README files that help people start.
proofreading | proofread-texts | Correct spelling and grammar.
academic-citations | citation-formatting | Bibliographies and citations in the right format.
video-subtitles | subtitle-videos | Create subtitles for a video and time them.
audio-transcription | transcribe-audio | Transcription of speech with speakers.
text-translation | translate-texts | Faithful translation of texts with a glossary.
resume-writing | tailor-resumes | Resumes and cover letters for a job advert.
invoice-creation | create-invoices | Correct invoices, and reminders.
contract-review | review-contracts | Risks and missing clauses in contracts.
threat-modeling | threat-models | Threats of a system, and defences.
reentrancy-audit | find-reentrancy | Reentrancy bugs in smart contracts.
gas-optimisation | solidity-gas-costs | Lower the gas costs of Solidity code.
time-series-forecasting | forecast-time-series | Forecasts with seasonality.
trip-planning | plan-trips | Travel plans by dates, budget and interests.
meal-planning | weekly-meal-plan | Plan the meals of a week by diet and budget.
bread-baking | baking-bread | Sourdough and yeast bread.
bicycle-repair | repair-bicycles | Adjust gears and brakes of bicycles.
""".strip().splitlines()
]
"""Slug of a skill that is there, name and description of the one to be made."""


def is_named_as_duplicate(
    index: Bm25Selector, name: str, description: str, slug: str, but: str = ""
) -> bool:
    """Tell whether the skill `slug`, "" for any, is named as what a new one nearly duplicates."""
    words = index._index
    face = partial(similarity.extract_features, words.stem_words)
    mine = face(name, description, "")
    known = {one.path: one for one in load_labelled_set().documents}
    for found in index.rank(f"{name} {description}", 9):
        one = known[found.path]
        if found.path == but or slug not in ("", one.slug):
            continue
        other = face(one.slug, one.description, "")
        weight = similarity.rarity_weights(
            words.count_documents(sorted(mine.all_stems | other.all_stems)), words.count_keys()
        )
        if similarity.similarity_score(mine, other, weight) >= similarity.NEAR_DUPLICATE_THRESHOLD:
            return True
    return False
