"""A slice of the campaign of killed learners, at moments that no chance decides."""

from tests.campaigns.killed_learners import run_kills


def test_what_is_killed_while_it_waits_for_an_answer_ends_once_and_pays_nothing_stored_twice(
    tmp_path,
):
    result = run_kills(tmp_path / "brain", items=10, kills=4, seed=7, moments=("asked",))
    assert (result.problems, result.paid_twice, result.ended) == ([], 0, 10)
    assert result.moments == {"asked": 4} and result.asked_again == 4
