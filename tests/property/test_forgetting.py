"""A brain that learns, goes back, redacts and collects, against a plain dictionary."""

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from brain import Brain, BrainError

NAMES = st.sampled_from(["a", "b", "c"])
TEXTS = st.sampled_from([f"Text {number}.\n" for number in range(6)])
BRANCHES = st.sampled_from(["main", "idea", "other"])


class Forgetting(RuleBasedStateMachine):
    """`held` is what each snapshot ever seen holds, `gone` the content that was redacted."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.brain = Brain.init(self.folder / "agent", author="tester")
        self.held: dict[str, dict[str, bytes]] = {}
        self.gone: set[bytes] = set()

    def teardown(self) -> None:
        self.brain.close()
        shutil.rmtree(self.folder)

    @initialize()
    def begin(self) -> None:
        self.note()

    def files(self) -> dict[str, bytes]:
        root = self.brain.root
        found = [path for path in root.rglob("*") if path.is_file()]
        return {
            path.relative_to(root).as_posix(): path.read_bytes()
            for path in found
            if ".brain" not in path.parts
        }

    def note(self) -> None:
        """Take down what the head holds now, or compare it with what was taken down."""
        found = self.files()
        assert self.held.setdefault(self.brain.head, found) == found

    def refused(self, error: BrainError, *codes: str) -> None:
        assert error.code in codes, error
        self.brain.restore("@")

    @rule(name=NAMES, text=TEXTS)
    def upsert(self, name: str, text: str) -> None:
        try:
            self.brain.skills.upsert(name, text)
        except BrainError as error:
            self.refused(error, "redacted")
        self.note()

    @rule(name=NAMES, text=TEXTS)
    def write(self, name: str, text: str) -> None:
        path = self.brain.root / "memory" / f"{name}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        try:
            self.brain.snapshot()
            assert text.encode() not in self.gone
        except BrainError as error:
            assert text.encode() in self.gone
            path.unlink()
            self.refused(error, "redacted")
        self.note()

    @rule(name=BRANCHES)
    def switch(self, name: str) -> None:
        if name not in [branch.name for branch in self.brain.branches.list().branches]:
            self.brain.branches.create(name)
        if self.brain.branches.switch(name).redacted:
            self.brain.snapshot("Without what was redacted")
        self.note()

    @rule(name=BRANCHES)
    def delete_branch(self, name: str) -> None:
        try:
            self.brain.branches.delete(name)
        except BrainError as error:
            assert error.code in ("no_branch", "current_branch", "not_merged")

    @rule()
    def undo(self) -> None:
        try:
            self.brain.undo()
        except BrainError as error:
            self.refused(
                error,
                "nothing_to_undo",
                "redacted",
                "collected",
                "current_branch",
                "stale_ref",
                "other_branch",
            )
            return
        self.left_out()

    def left_out(self) -> None:
        if not self.brain.status().clean:
            self.brain.snapshot("As it is")
        self.note()

    @rule(name=NAMES)
    def redact(self, name: str) -> None:
        path = f"memory/{name}.md"
        before = self.files()
        if path not in before:
            return
        content = before[path]
        self.brain.files.redact(path, reason="No more of it")
        self.gone.add(content)
        for held in self.held.values():
            for other in [other for other, found in held.items() if found == content]:
                del held[other]
        assert self.files() == {p: found for p, found in before.items() if found != content}
        self.note()

    @rule()
    def collect(self) -> None:
        self.brain.gc(grace=0)
        assert self.brain.gc(grace=0).removed == 0

    @rule()
    def open_again(self) -> None:
        root = self.brain.root
        self.brain.close()
        self.brain = Brain.open(root, author="tester")

    @invariant()
    def every_snapshot_of_a_branch_holds_what_it_held(self) -> None:
        session = self.brain._session
        for branch in self.brain.branches.list().branches:
            for info in self.brain.history.log(branch.snapshot):
                bundle = session.state_of(bytes.fromhex(info.snapshot))
                blobs = {e.path: e.blob for e in bundle.walk()}
                known = session.store.find_redactions(list(blobs.values()))
                found = {
                    path: session.store.read_blob(blob)
                    for path, blob in blobs.items()
                    if blob not in known
                }
                assert found == self.held.get(info.snapshot, found)

    @invariant()
    def it_verifies(self) -> None:
        found = self.brain.verify(deep=True).findings
        assert {finding.code for finding in found} <= {"redacted"}
        assert self.brain._session.store.list_pending_writes() == []


TestForgetting = Forgetting.TestCase
TestForgetting.settings = settings(max_examples=12, stateful_step_count=25, deadline=None)
