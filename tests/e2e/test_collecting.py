import subprocess
import sys

from brain import Brain

WRITER = """
import sys
from brain import Brain
with Brain.open(sys.argv[1]) as brain:
    for number in range(25):
        brain.skills.upsert(f"{sys.argv[2]} {number % 5}", f"Step {number}.\\n")
        brain.skills.upsert("shared", f"{sys.argv[2]} {number}.\\n")
"""


def test_collections_beside_writers_and_a_verification_take_nothing_that_is_needed(
    project, tmp_path
):
    with Brain.init(tmp_path / "agent") as brain:
        for number in range(20):
            brain.skills.upsert("Given up", f"{number}\n" * 500)
            brain.undo()
        writers = [
            subprocess.Popen([sys.executable, "-c", WRITER, brain.root, name], cwd=project)
            for name in ("one", "two", "three")
        ]
        removed, rounds = 0, 0
        while rounds < 2 or any(writer.poll() is None for writer in writers):
            removed += brain.gc(grace=0).removed
            assert brain.verify(deep=True).ok
            rounds += 1
        assert [writer.wait() for writer in writers] == [0, 0, 0]
        assert removed > 20
        brain.gc(grace=0)
        assert brain.verify(deep=True).ok
        assert brain.skills.view("shared").version == 75
        assert brain.skills.view("one-4").version == 5
