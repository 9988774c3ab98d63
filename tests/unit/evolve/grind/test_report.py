"""The page of a grind: escaped, whole, and the same bytes each time."""

import copy
import sys
from html.parser import HTMLParser

import pytest

from brain.evolve.grind.report import render_report

EVIL = "<script>alert(1)</script>\"&'$HOME \x1b[2J \udcff"
VOID = {"meta", "br"}
BILL = {"requests": 1, "tokens_in": 20, "tokens_out": 5}


def make_cycle(number, score, **fields):
    return {
        "cycle": number,
        "score": score,
        "passed": score == 1,
        "failure": "" if score == 1 else "assertion",
        "tests_passed": 2,
        "tests": 3,
        "skills": ["dates"],
        "was_read": True,
        "seconds": 1.25,
        "snapshot": "ab" * 32,
        **BILL,
        **fields,
    }


def make_report(tasks=4, text="tidy-dates"):
    names = [f"{text} {number}" for number in range(tasks)]
    gate = {
        "done": "rejected",
        "reason": f"2 got worse {text}",
        "slug": "dates",
        "version": 2,
        "wins": 8,
        "losses": 2,
        "ties": 4,
        "e_value": "11.775",
        "snapshot": "cd" * 32,
        "proposal": "",
        "attempt": f"dates/{text}",
    }
    return {
        "name": text,
        "branch": f"proposed/{text}",
        "solver": f"command {text}",
        "evolver": f"command {text}",
        "settings": {"max_cycles": 3, "select_by": text},
        "result": "budget",
        "reason": f"the budget is spent {text}",
        "tasks": [
            {
                "name": name,
                "category": text,
                "split": "practice",
                "result": "passed",
                "reason": text,
                "cycles": [make_cycle(1, None, failure=text), make_cycle(2, 1.0, skills=[text])],
            }
            for name in names
        ]
        + [
            {
                "name": f"held out {split} {text}",
                "category": "logs",
                "split": split,
                "result": "left out",
                "reason": "",
                "cycles": [],
            }
            for split in ("holdout", "test")
        ],
        "steps": [
            {
                "number": 7,
                "batch": 1,
                "kind": "failure",
                "tasks": names,
                "before": "ab" * 32,
                "snapshot": "cd" * 32,
                "skills_before": 0,
                "skills_after": 1,
                "added": [text],
                "changed": [f"skills/{text}/{number}.md" for number in range(9)],
                "refused": [{"path": f"manifest.yaml {text}", "reason": f"not yours {text}"}],
                "error": f"out of time {text}",
                **BILL,
            }
        ],
        "batches": [
            {
                "number": number + 1,
                "tasks": [name],
                "passed": 1,
                "first_passed": 0,
                "egl": float("inf"),
                "skills": 1,
                "went_back_to": text,
                "gate": gate if number % 2 else None,
            }
            for number, name in enumerate(names)
        ],
        "egl": 250.0,
        "converged": False,
        "final_score": 0.5,
        "compare": {
            "split": text,
            "tasks": [{"name": text, "category": text, "before": None, "after": 1.0}],
            "wins": 1,
            "losses": 0,
            "ties": 0,
        },
        "transfer": [
            {
                "skill": text,
                "born_at": text,
                "category": category,
                "tasks": 4,
                "first_passed": 3,
            }
            for category in (text, "skill", "a|b")
        ],
        "cost": {"requests": 99, "tokens_in": 1200, "tokens_out": 30, "seconds": 3725.4},
    }


def make_empty():
    report = make_report()
    lists = ("tasks", "steps", "batches", "transfer")
    nothing = {"final_score": None, "compare": None, "egl": 0.0, "settings": {}}
    return {**report, **{key: [] for key in lists}, **nothing}


class Page(HTMLParser):
    """What a page consists of; raises if its elements are not closed in their order."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.ids, self.texts, self.links = [], [], [], [], []
        self.feed(page)
        self.close()
        assert self.open == []
        self.text = " ".join(" ".join(self.texts).split())

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        for name, value in attributes:
            assert not name.startswith("on"), name
            if name == "id":
                self.ids.append(value)
            if name in ("src", "href", "xlink:href", "action"):
                self.links.append(value)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.texts.append(data)


def test_the_page_is_whole_and_takes_nothing_from_elsewhere():
    page = Page(render_report(make_report()))
    assert "script" not in page.tags and page.tags.count("svg") == 3
    assert len(page.ids) == len(set(page.ids)) > 3
    assert page.links and all(link[1:] in page.ids for link in page.links)
    assert page.tags.count("title") == 4  # of the page, and for who cannot see the curves


@pytest.mark.parametrize(
    "said",
    [
        "Final score 0.50",
        "Passed 4 of 4 0 at the first try",
        "Time 1:02:05",
        "By batch: passed from 1.00 to 1.00",
        "evo-7 1 failure tidy-dates 0",
        "manifest.yaml tidy-dates not yours",
        "out of time tidy-dates",
        "✗ rejected dates 2 8 2 4 11.78 brain evolve attempts",
        "brain evolve attempts dates/tidy-dates 2 got worse tidy-dates",
        "3 of 4",
        "2 of 3 assertion",
        "1 better, 0 worse, 0 the same",
        "Held out for the gate: 1",
        "Solving 8 160 40",
        "Evolution: failure 1 20 5",
        "Gate and comparison 90 1,020 -15",
        "∞",
    ],
)
def test_the_page_says(said):
    report = make_report()
    report["tasks"][0]["cycles"][0]["failure"] = "assertion"
    assert said in Page(render_report(report)).text


def test_every_text_of_the_report_is_escaped():
    usual, evil = (Page(render_report(make_report(text=text))) for text in ("plain", EVIL))
    assert evil.tags == usual.tags and evil.ids == usual.ids
    assert evil.text.count("<script>alert(1)</script>\"&'$HOME \\x1b[2J \\udcff") > 30
    assert "\x1b" not in evil.text


def test_an_empty_report_is_a_page_too():
    page = Page(render_report(make_empty()))
    assert "svg" not in page.tags and "Not compared" in page.text


def test_the_same_report_is_the_same_page_and_is_not_changed():
    report = make_report(30)
    kept = copy.deepcopy(report)
    page = render_report(report)
    assert page == render_report(report) and report == kept
    assert "2 a point" in page


def test_a_thousand_tasks_are_a_page():
    page = Page(render_report(make_report(1000)))
    assert page.tags.count("details") > 1000 and "tidy-dates 999" in page.text


def test_without_matplotlib_the_page_has_its_tables_and_says_what_to_install(monkeypatch):
    drawn = Page(render_report(make_report()))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    page = Page(render_report(make_report()))
    assert "pip install 'agent-brain[report]'" in page.text and "svg" not in page.tags
    assert page.tags.count("table") == drawn.tags.count("table") > 6
