"""Adopting and publishing say how far they are."""

from brain import Brain
from tests.support.agent_homes import make_hermes_home


class Reports:
    """Keeps what a progress bar would be called with."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int, int]] = []

    def __call__(self, what: str, done: int, total: int) -> None:
        self.calls.append((what, done, total))

    def counts(self, what: str) -> list[int]:
        """Return the counts of one kind of work, in order."""
        return [done for kind, done, _ in self.calls if kind == what]


def test_adopting_and_publishing_report_each_file(tmp_path):
    home = tmp_path / "home"
    make_hermes_home(home)
    preview, adopting, in_place, publishing = (Reports() for _ in range(4))
    planned = Brain.preview_adoption(home, tmp_path / "brain", progress=preview)
    Brain.adopt(home, tmp_path / "brain", progress=adopting)
    counts = adopting.counts("files read")
    assert counts == sorted(counts) and counts[-1] >= len(planned.taken) > 1
    assert preview.counts("files read") == counts
    with Brain.open(tmp_path / "brain") as brain:
        written = brain.publish("claude", tmp_path / "project", progress=publishing).written
    assert len(publishing.counts("files written")) == len(written) > 0
    assert publishing.counts("files read") and publishing.counts("secret scan")
    Brain.adopt(home, progress=in_place)
    assert in_place.counts("files read")[-1] >= counts[-1]
