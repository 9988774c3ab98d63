"""Ranking by BM25 over names and descriptions."""

import pytest

from brain.search import bm25
from brain.search.bm25 import Bm25Selector
from brain.search.tokenizer import STOP_WORDS
from tests.support.skill_catalogues import index_words, ranked_slugs, skill_document

TABLES = skill_document("csv-to-excel", "Convert comma separated files into spreadsheets")
DATES = skill_document("date-parsing", "Read dates in any notation")
NAMED = skill_document("x1", "Nothing to see", name="Oracle manipulation")


def rank(task: str, limit: int = 10) -> list[str]:
    return ranked_slugs(Bm25Selector(index_words(TABLES, DATES, NAMED)).rank(task, limit))


@pytest.mark.parametrize(
    ("task", "slug"),
    [
        ("converting a spreadsheet", "csv-to-excel"),  # other endings of the words
        ("EXCEL", "csv-to-excel"),
        ("parse the dates", "date-parsing"),
        ("manipulations of oracles", "x1"),  # a name that is not the slug
    ],
)
def test_words_are_found_whatever_their_ending_and_case(task, slug):
    assert rank(task)[0] == slug


def test_a_rare_word_counts_more_than_a_frequent_one():
    skills = [skill_document(f"s{number}", "report of sales") for number in range(9)]
    known = index_words(*skills, skill_document("rare", "report of penguins"))
    assert ranked_slugs(Bm25Selector(known).rank("sales penguins", 1)) == ["rare"]


def test_a_task_without_a_word_of_any_skill_finds_nothing():
    assert rank("qwertz") == rank("") == rank("!?") == []


def test_a_limit_from_zero_down_takes_all_with_what_fits_first():
    assert rank("dates", 0) == ["date-parsing", "csv-to-excel", "x1"]


@pytest.mark.parametrize("task", ['" OR slug:*', "NEAR(a b)", "dates AND NOT dates", "c0:dates^"])
def test_the_language_of_the_engine_is_plain_text(task):
    assert rank(task) in ([], ["date-parsing"])


def test_words_that_say_nothing_count_only_where_there_are_no_others():
    assert {"the", "please", "with"} <= STOP_WORDS
    known = index_words(skill_document("a", "the one with the lot"), skill_document("b", "dates"))
    assert ranked_slugs(Bm25Selector(known).rank("please, the dates", 5)) == ["b"]
    assert ranked_slugs(Bm25Selector(known).rank("the with", 5)) == ["a"]


def test_writing_without_spaces_is_found_by_its_pairs():
    known = index_words(
        skill_document("pdf-biao", "从PDF文件提取表格数据"), skill_document("rili", "管理日历")
    )
    assert ranked_slugs(Bm25Selector(known).rank("把表格提取出来", 5)) == ["pdf-biao"]


def test_accents_make_no_difference():
    known = index_words(skill_document("resume", "Écrire un résumé"))
    assert ranked_slugs(Bm25Selector(known).rank("ecrire resume", 5)) == ["resume"]


def test_a_long_task_costs_no_more_than_its_rarest_words():
    index = index_words(
        *(skill_document(f"s{number}", f"common word{number}") for number in range(50))
    )
    task = "common " + " ".join(f"word{number}" for number in range(40))
    words = bm25.choose_query_words(index, task, 5)
    assert len(words) == 5 and "common" not in words
    assert len(bm25.choose_query_words(index, task)) == bm25.MAX_QUERY_WORDS
    assert bm25.choose_query_words(index, "common", 5) == [
        "common"
    ]  # the only one, whatever it hits
