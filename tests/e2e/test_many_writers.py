"""Processes and threads writing to one brain at once: nothing acknowledged is lost."""

import json
import subprocess
import sys
import threading

from brain import Brain

WRITER = """
import json, sys
from brain import Brain
folder, mine, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
with Brain.open(folder, author=mine) as brain:
    done = []
    for i in range(times):
        done.append(brain.skills.upsert("shared", f"{mine} {i}\\n", description="d").version)
        brain.skills.upsert(f"own {mine}", f"{i}\\n", description="d")
print(json.dumps(done))
"""


def test_16_processes_write_the_same_and_their_own_skill_without_a_gap(tmp_path):
    writers, times = 16, 6
    folder = tmp_path / "agent"
    Brain.init(folder).close()
    running = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(folder), f"w{number}", str(times)],
            stdout=subprocess.PIPE,
        )
        for number in range(writers)
    ]
    acknowledged: list[int] = []
    for process in running:
        out, _ = process.communicate()
        assert process.returncode == 0
        acknowledged += json.loads(out)
    assert sorted(acknowledged) == list(range(1, writers * times + 1))
    with Brain.open(folder) as brain:
        assert brain.skills.view("shared").version == writers * times
        assert [brain.skills.view(f"own-w{n}").version for n in range(writers)] == [times] * writers
        assert len(list(brain.history.log())) == 1 + 2 * writers * times
        assert brain.status().clean
        found = brain.verify(deep=True)
        assert found.ok and found.findings == []


def test_threads_share_one_brain_while_readers_see_whole_states(tmp_path):
    with Brain.init(tmp_path / "agent") as brain:
        brain.skills.upsert("shared", "0\n", description="d")
        wrong: list[object] = []
        over = threading.Event()

        def write(number: int) -> None:
            for i in range(10):
                brain.skills.upsert("shared", f"{number} {i}\n")

        def read() -> None:
            with Brain.open(tmp_path / "agent") as reader:
                last = 0
                while not over.is_set():
                    version = reader.skills.view("shared").version
                    if not isinstance(version, int) or version < last:
                        wrong.append(version)
                    else:
                        last = version

        readers = [threading.Thread(target=read) for _ in range(2)]
        writers = [threading.Thread(target=write, args=(n,)) for n in range(4)]
        for thread in readers + writers:
            thread.start()
        for thread in writers:
            thread.join()
        over.set()
        for thread in readers:
            thread.join()
        assert wrong == []
        assert brain.skills.view("shared").version == 41
        assert brain.verify().ok
