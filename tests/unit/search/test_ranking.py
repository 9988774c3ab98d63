"""How texts are ranked."""

import pytest

from brain.digest import blob_id
from brain.search import full_text, selectors
from brain.search.full_text import FullTextIndex
from brain.search.selectors import (
    FIELD_WEIGHTS,
    FUSION_DEPTH,
    STOP_WORDS,
    WORDS_WEIGHT,
    Bm25Selector,
    HybridSelector,
    KeywordSelector,
    RankedSkill,
    SearchDocument,
    correct_word,
    fuse_rankings,
    index_fields,
)
from brain.search.similarity import (
    NEAR_DUPLICATE_THRESHOLD,
    SimilarityFeatures,
    extract_features,
    is_roughly_similar,
    rarity_weights,
    similarity_score,
)


def skill_document(path: str, description: str, name: str = "") -> SearchDocument:
    """Return a skill at `path` below skills/, without its SKILL.md."""
    slug = path.rpartition("/")[2]
    return SearchDocument(
        f"{path}/SKILL.md", slug, name or slug, description, blob_id(path.encode())
    )


def make_catalogue(*documents: SearchDocument) -> dict[str, SearchDocument]:
    return {document.path: document for document in documents}


def index_words(*skills: SearchDocument) -> FullTextIndex:
    """Return the index of the words of skills."""
    made = full_text.open_memory_full_text(FIELD_WEIGHTS)
    with made.transaction():
        made.update(b"", (), ((one.path, index_fields(one)) for one in skills))
    return made


def ranked_slugs(found: list[RankedSkill]) -> list[str]:
    return [one.slug for one in found]


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
    words = selectors.choose_query_words(index, task, 5)
    assert len(words) == 5 and "common" not in words
    assert len(selectors.choose_query_words(index, task)) == selectors.MAX_QUERY_WORDS
    assert selectors.choose_query_words(index, "common", 5) == [
        "common"
    ]  # the only one, whatever it hits


WORDS: frozenset[str] = frozenset()


def test_a_body_that_another_holds_whole_is_alike_however_much_more_there_is():
    lines = [f"A line of some length, number {number}." for number in range(10)]
    short, long = (SimilarityFeatures(WORDS, WORDS, frozenset(some)) for some in (lines[:2], lines))
    assert similarity_score(short, long, lambda stem: 1.0) == 1.0
    assert similarity_score(long, short, lambda stem: 1.0) == 1.0


def ranking(**scores: float) -> list[RankedSkill]:
    return [RankedSkill(name, score, f"{name}/SKILL.md") for name, score in scores.items()]


def test_what_both_find_beats_what_one_finds_first():
    fused = fuse_rankings(ranking(a=0.9, b=0.8, c=0.4), ranking(d=9.0, b=8.0, e=0.9))
    assert ranked_slugs(fused) == ["b", "a", "d", "e", "c"]
    assert fused[0].score == pytest.approx(0.8 + WORDS_WEIGHT * 8 / 9)


def test_a_word_far_rarer_than_chance_matches_decides_between_like_meanings():
    meant = ranking(nearest=0.82, named=0.81, far=0.4)
    assert ranked_slugs(fuse_rankings(meant, ranking(named=20.0, nearest=2.0)))[0] == "named"
    assert ranked_slugs(fuse_rankings(meant, ranking(far=2.0)))[0] == "nearest"


def test_one_ranking_alone_keeps_its_order():
    alone = ranking(b=0.9, a=0.5, c=0.5)
    assert ranked_slugs(fuse_rankings(alone, [])) == ["b", "a", "c"]
    assert ranked_slugs(fuse_rankings([], alone)) == ["b", "a", "c"]
    assert fuse_rankings([], []) == []


def test_skills_that_are_equally_near_all_count():
    assert ranked_slugs(fuse_rankings(ranking(a=0.5), ranking(b=3.0))) == ["a", "b"]


def test_words_that_did_not_match_and_places_beyond_the_depth_score_nothing():
    many = ranking(**{f"s{n:03}": 1 - n / 1000 for n in range(FUSION_DEPTH + 5)})
    fused = fuse_rankings(many, ranking(s000=1.0, zero=0.0))
    assert [one.score for one in fused[FUSION_DEPTH:]] == [0.0] * 6
    assert ranked_slugs(fused) == [*ranked_slugs(many), "zero"]


def test_skills_of_one_slug_stay_two():
    twins = [RankedSkill("a", 1.0, "x/a/SKILL.md"), RankedSkill("a", 1.0, "y/a/SKILL.md")]
    assert [one.path for one in fuse_rankings(twins, [])] == ["x/a/SKILL.md", "y/a/SKILL.md"]


def test_a_hybrid_finds_what_any_part_finds():
    skills = [
        skill_document("a", "alpha beta"),
        skill_document("b", "running"),
        skill_document("c", "none"),
    ]
    hybrid = HybridSelector(
        KeywordSelector(make_catalogue(*skills)), Bm25Selector(index_words(*skills))
    )
    assert ranked_slugs(hybrid.rank("alpha beta runs", 5)) == ["a", "b"]
    assert ranked_slugs(hybrid.rank("alpha beta runs", 1)) == ["a"]
    assert ranked_slugs(hybrid.rank("alpha beta runs", 0)) == ["a", "b", "c"]


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
    assert ranked_slugs(selector.rank("alpha beta", 5)) == ["a"]
    del known["a/SKILL.md"]
    known |= make_catalogue(skill_document("b", "alpha beta"))
    assert ranked_slugs(selector.rank("alpha beta", 5)) == ["b"]


STEMS = full_text.open_memory_full_text((1.0,)).stem_words
COUNTS = {"csv": 3, "excel": 4, "check": 60, "creat": 80, "pdf": 12}


def like(one: tuple[str, str, str], other: tuple[str, str, str]) -> float:
    return similarity_score(
        extract_features(STEMS, *one), extract_features(STEMS, *other), rarity_weights(COUNTS, 300)
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("csv-to-excel", "Convert CSV to Excel", ""), ("excel-from-csv", "Make a workbook", "")),
        (("a", "Fill the fields of a PDF form", ""), ("b", "PDF forms: filling fields", "")),
        (("a", "x", "# Steps\nOpen the ledger first.\n"), ("b", "y", "Open the  ledger first.")),
    ],
)
def test_near_duplicates_are_alike(one, other):
    assert like(one, other) == like(other, one) >= NEAR_DUPLICATE_THRESHOLD
    assert is_roughly_similar(extract_features(STEMS, *one), extract_features(STEMS, *other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("pdf-merge", "Join PDF files", ""), ("pdf-sign", "Put a signature on a PDF", "")),
        (("check-logs", "Check and create logs", ""), ("check-tax", "Check and create taxes", "")),
        (("a", "x", "- yes\n- no\n"), ("b", "y", "- yes\n- no\n")),  # lines that say nothing
        (("a", "", ""), ("b", "", "")),
    ],
)
def test_skills_of_one_field_are_not(one, other):
    assert like(one, other) < NEAR_DUPLICATE_THRESHOLD


def test_a_skill_is_as_like_itself_as_can_be():
    skill = ("csv-to-excel", "Convert CSV to Excel", "")
    assert like(skill, skill) == pytest.approx(1)


SKILLS = [
    skill_document("pdf-forms", "Fill the forms of documents"),
    skill_document("penguins", "Count penguins"),
    skill_document("whales", "Count whales and other documents of the sea"),
]


@pytest.mark.parametrize("word", ["pengins", "pengguins", "pnguins", "pemguins", "penguisn"])
def test_one_mistake_is_read_past(word):
    assert correct_word(index_words(*SKILLS), word) == "penguins" or word == "penguisn"
    assert ranked_slugs(Bm25Selector(index_words(*SKILLS)).rank(f"how many {word}?", 1)) == [
        "penguins"
    ]


@pytest.mark.parametrize("word", ["qenguins", "pengiuns2", "penguinsss", "whle", "été", "x" * 99])
def test_more_mistakes_and_short_words_stay_what_they_are(word):
    assert correct_word(index_words(*SKILLS), word) is None


def test_a_word_that_a_skill_has_is_not_corrected():
    known = index_words(skill_document("form", "form"), skill_document("farm", "farm farming"))
    assert ranked_slugs(Bm25Selector(known).rank("farms", 5)) == ["farm"]


def test_of_near_words_the_one_that_most_skills_have_is_meant():
    skills = [skill_document(f"s{n}", "carrots") for n in range(3)] + [
        skill_document("s9", "parrots")
    ]
    assert correct_word(index_words(*skills), "xarrots") is None
    assert correct_word(index_words(*skills), "carrosts") == "carrots"
