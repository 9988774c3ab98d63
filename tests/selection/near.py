"""Near-duplicates of skills of the labelled set: how a second writer might have put them."""

from __future__ import annotations

from functools import partial

from brain.selection import likeness
from brain.selection.bm25 import Bm25

from .labelled import load

PAIRS = [
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


def alike(index: Bm25, name: str, description: str, slug: str, but: str = "") -> bool:
    """Tell whether the skill `slug`, "" for any, is named as what a new one nearly duplicates."""
    words = index._index
    face = partial(likeness.face, words.stems)
    mine = face(name, description, "")
    known = {one.path: one for one in load().documents}
    for found in index.rank(f"{name} {description}", 9):
        one = known[found.path]
        if found.path == but or slug not in ("", one.slug):
            continue
        other = face(one.slug, one.description, "")
        weight = likeness.rarity(words.counts(sorted(mine.all | other.all)), words.total())
        if likeness.likeness(mine, other, weight) >= likeness.ALIKE:
            return True
    return False
