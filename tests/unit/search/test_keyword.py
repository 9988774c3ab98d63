"""The keyword score of the skills a task names."""

from brain.search.keyword_score import KeywordSelector
from tests.support.skill_catalogues import make_catalogue, ranked_slugs, skill_document


def scores(task: str, *skills: tuple[str, str]) -> dict[str, float]:
    found = KeywordSelector(make_catalogue(*(skill_document(*one) for one in skills))).rank(
        task, 10
    )
    return {one.slug: one.score for one in found}


def test_each_word_of_name_and_description_in_the_task_counts_one():
    skills = ("excel-report", "Turn tables into spreadsheets")
    assert scores("make an excel report of these tables", skills) == {"excel-report": 3}


def test_a_word_within_a_longer_word_does_not_count():
    skills = ("form-filler", "Fill any form there is")
    assert scores("build the platform and its filler", skills) == {}
    assert scores("fill the form with the filler", skills) == {"form-filler": 3}


def test_words_of_three_characters_or_fewer_do_not_count():
    assert scores("run the sql and csv job", ("sql-csv", "Run the sql and csv job")) == {}


def test_a_word_counts_once_however_often_it_stands_there():
    skills = ("budget-budget", "Budget after budget after budget, and a ledger")
    assert scores("budget budget ledger", skills) == {"budget-budget": 2}


def test_case_makes_no_difference():
    assert scores("EXCEL Straße", ("excel", "die STRASSE")) == {"excel": 2}


def test_a_category_with_a_word_in_the_task_gives_five():
    skills = [("financial-modeling/budget", "Sums"), ("cooking/budget", "Sums")]
    assert scores("a budget for modeling work", *skills) == {"budget": 6}


def test_below_two_nothing_fits():
    assert scores("about budgets", ("budgets", "Sums")) == {}


def test_the_best_comes_first_and_equals_by_path():
    skills = [
        skill_document("b", "alpha beta"),
        skill_document("a", "alpha beta"),
        skill_document("c", "alpha beta gamma"),
    ]
    found = KeywordSelector(make_catalogue(*skills)).rank("alpha beta gamma", 2)
    assert ranked_slugs(found) == ["c", "a"]
    assert ranked_slugs(KeywordSelector(make_catalogue(*skills)).rank("alpha beta gamma", 3)) == [
        "c",
        "a",
        "b",
    ]


def test_a_limit_from_zero_down_takes_all():
    skills = [skill_document("a", "nothing"), skill_document("b", "alpha beta")]
    for limit in (0, -1):
        found = KeywordSelector(make_catalogue(*skills)).rank("alpha beta", limit)
        assert [(one.slug, one.score) for one in found] == [("b", 2), ("a", 0)]


def test_what_goes_is_found_no_more_and_what_comes_is():
    known = make_catalogue(skill_document("a", "alpha beta"))
    selector = KeywordSelector(known)
    known.update(["a/SKILL.md"], [skill_document("b", "alpha beta")])
    assert ranked_slugs(selector.rank("alpha beta", 5)) == ["b"]
