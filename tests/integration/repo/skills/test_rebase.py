import pytest

from brain import Brain, Conflict, NotFound
from tests.support.refusals import raises_code


@pytest.fixture
def brain(tmp_path):
    made = Brain.init(tmp_path / "agent", author="tester")
    made.skills.upsert("Oracle", "one\n\ntwo\n\nthree\n", description="Check")
    return made


def body(brain: Brain) -> str:
    return brain.skills.view("oracle").body.strip()


def test_a_text_for_the_version_that_is_there_is_written_as_it_is(brain):
    assert brain.skills.upsert("Oracle", "new\n", base=1).version == 2
    assert body(brain) == "new"


def test_what_another_writer_did_since_is_kept(brain):
    brain.skills.upsert("Oracle", "ONE\n\ntwo\n\nthree\n", base=1)
    brain.skills.upsert("Oracle", description="Check and compare")
    done = brain.skills.upsert("Oracle", "one\n\ntwo\n\nTHREE\n", base=1)
    assert (done.previous_version, done.version) == (3, 4)
    assert body(brain) == "ONE\n\ntwo\n\nTHREE"
    assert brain.skills.view("oracle").description == "Check and compare"
    assert brain.verify(deep=True).findings == []


def test_two_texts_for_the_same_lines_are_not_laid_over_each_other(brain):
    brain.skills.upsert("Oracle", "ONE\n\ntwo\n\nthree\n", base=1)
    head = brain.head
    with raises_code("stale_base", Conflict) as caught:
        brain.skills.upsert("Oracle", "uno\n\ntwo\n\nthree\n", base=1)
    assert "version 2" in caught.value.message
    assert brain.head == head and body(brain).startswith("ONE")


def test_a_base_that_never_was_or_is_gone_is_refused(brain):
    with raises_code("no_version", NotFound):
        brain.skills.upsert("Oracle", "x\n", base=7)
    brain.skills.delete("oracle")
    with raises_code("stale_base", Conflict):
        brain.skills.upsert("Oracle", "x\n", base=1)


def test_what_it_costs_does_not_grow_with_the_versions_that_lie_before(brain):
    for number in range(300):
        brain.skills.upsert("Oracle", f"one\n\n{number}\n\nthree\n")
    with Brain.open(brain.root) as late:
        done = late.skills.upsert("Oracle", "one\n\n297\n\nTHREE\n", base=299)
        assert done.version == 302 and len(late._session._snapshots) < 40
    assert body(brain) == "one\n\n299\n\nTHREE"
