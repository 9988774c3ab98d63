"""Every limit of a job, at its edge."""

import dataclasses

import pytest

from brain.sandbox import memory
from brain.sandbox.job import DEFAULT_LIMITS, MIB, SandboxLimits

from .conftest import PATIENT


def limits(**changed: int) -> SandboxLimits:
    return dataclasses.replace(PATIENT, **changed)


def test_a_process_that_asks_for_too_much_memory_gets_a_memory_error(run):
    code = "bytearray(40 << 20)\nprint('some')\nbytearray(100 << 20)\n"
    outcome = run(code, limits=limits(memory_bytes=100 * MIB))
    assert (outcome.status, outcome.stdout) == (1, b"some\n")
    assert outcome.stderr.endswith(b"MemoryError\n")


@pytest.mark.parametrize("grouped", [True, False])
def test_processes_together_get_no_more_memory_than_one(run, monkeypatch, grouped):
    if not grouped:
        monkeypatch.setattr(memory, "find_group_parent", lambda: None)
    code = (
        "import os, mmap\n"
        "def fill():\n"
        "    blocks = []\n"
        "    try:\n"
        "        while True:\n"
        "            blocks.append(mmap.mmap(-1, 1 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))\n"
        "            blocks[-1].write(b'x' * (1 << 20))\n"
        "    except OSError:\n"
        "        return len(blocks)\n"
        "reading, writing = os.pipe()\n"
        "for number in range(3):\n"
        "    if os.fork() == 0:\n"
        "        os.close(reading)\n"
        "        os.write(writing, b'%d\\n' % fill())\n"
        "        os._exit(0)\n"
        "os.close(writing)\n"
        "counted = [int(row) for row in open(reading)]\n"
        "print(len(counted), sum(counted))\n"
    )
    outcome = run(code, limits=limits(memory_bytes=256 * MIB, processes=4))
    if grouped and (parent := memory.find_group_parent()) is not None:
        assert outcome.ended_by == "memory"
        assert outcome.memory == f"control group v{parent.version}"
    else:
        assert outcome.memory == "address space, shared out to processes"
        count, total = outcome.stdout.split()
        assert int(count) == 3 and int(total) <= 256


def test_one_of_many_processes_may_use_most_of_the_memory_where_all_are_counted(run):
    code = (
        "import os\n"
        "if os.fork() == 0:\n"
        "    bytearray(150 << 20)\n"
        "    os._exit(0)\n"
        "print(os.wait()[1])\n"
    )
    outcome = run(code, limits=limits(memory_bytes=256 * MIB, processes=4))
    is_counted = memory.find_group_parent() is not None
    assert (outcome.stdout == b"0\n") == is_counted


@pytest.mark.parametrize("allowed", [1, 4])
def test_a_program_has_no_more_processes_than_it_may(run, allowed):
    code = (
        "import os, signal\n"
        "count = 1\n"
        "try:\n"
        "    while os.fork():\n"
        "        count += 1\n"
        "    signal.pause()\n"
        "except OSError:\n"
        "    print(count)\n"
    )
    assert run(code, limits=limits(processes=allowed)).stdout == b"%d\n" % allowed


@pytest.mark.parametrize("way", ["os.fork()", "os.posix_spawn('/usr/bin/true', ['true'], {})"])
def test_a_program_that_may_start_no_other_cannot(run, way):
    outcome = run(
        f"import os\ntry:\n    {way}\nexcept OSError as error:\n    print(error.strerror)\n"
    )
    assert outcome.stdout == b"Function not implemented\n"


@pytest.mark.parametrize(("allowed", "given"), [({"threads": 5}, 5), ({"processes": 6}, 6)])
def test_a_program_has_no_more_threads_than_it_may(run, allowed, given):
    code = (
        "import os, signal, threading\n"
        "threading.stack_size(1 << 16)\n"
        "count = 1\n"
        "try:\n"
        "    while True:\n"
        "        threading.Thread(target=signal.pause, daemon=True).start()\n"
        "        count += 1\n"
        "except RuntimeError:\n"
        "    print(count, flush=True)\n"
        "    os._exit(0)\n"
    )
    assert run(code, limits=limits(**allowed)).stdout == b"%d\n" % given


def test_the_files_of_a_program_have_a_limit_together_and_each(run):
    code = (
        "total = 0\n"
        "for number in range(4):\n"
        "    with open(f'/tmp/{number}', 'wb', buffering=0) as file:\n"
        "        try:\n"
        "            while True:\n"
        "                total += file.write(b'x' * 4096)\n"
        "        except OSError as error:\n"
        "            print(number, error.strerror)\n"
        "print(total)\n"
    )
    outcome = run(code, limits=limits(file_bytes=MIB))
    first, *others, total = outcome.stdout.decode().splitlines()
    assert first in ("0 No space left on device", "0 File too large")
    assert others == [f"{number} No space left on device" for number in (1, 2, 3)]
    assert int(total) <= MIB


def test_a_program_that_makes_too_many_empty_files_is_ended(run):
    code = (
        "import os, time\n"
        f"for number in range({DEFAULT_LIMITS.files + 10}):\n"
        "    os.symlink('x', f'/tmp/{number}')\n"
        "time.sleep(600)\n"
    )
    assert run(code).ended_by == "memory"


def test_a_program_may_make_many_files(run):
    code = (
        "import os, sys\nfor number in range(int(sys.argv[1])):\n    os.mkdir(f'/tmp/{number}')\n"
    )
    outcome = run(code, str(DEFAULT_LIMITS.files // 2))
    assert (outcome.ended_by, outcome.status) == ("exit", 0)


def test_a_program_has_no_more_open_files_than_it_may(run):
    code = (
        "import os\n"
        "opened = []\n"
        "try:\n"
        "    while True:\n"
        "        opened.append(os.open('/dev/null', os.O_RDONLY))\n"
        "except OSError as error:\n"
        "    print(max(opened), error.strerror)\n"
    )
    outcome = run(code, limits=limits(open_files=20))
    assert outcome.stdout == b"19 Too many open files\n"


@pytest.mark.parametrize("descriptor", [1, 2])
def test_an_output_is_cut_at_its_limit_and_ends_the_job(run, descriptor):
    code = f"import os\nwhile True:\n    os.write({descriptor}, b'x' * 5000)\n"
    outcome = run(code, limits=limits(output_bytes=10_000))
    assert outcome.ended_by == "output"
    assert len((outcome.stdout, outcome.stderr)[descriptor - 1]) == 10_000


def test_an_output_may_be_as_long_as_its_limit(run):
    outcome = run("print('x' * 9_999)", limits=limits(output_bytes=10_000))
    assert (outcome.ended_by, len(outcome.stdout)) == ("exit", 10_000)
    outcome = run("print('x' * 10_000)", limits=limits(output_bytes=10_000))
    assert (outcome.ended_by, len(outcome.stdout)) == ("output", 10_000)


@pytest.mark.parametrize("start", ["=", "", "=\\n"])
def test_a_result_or_request_that_is_too_long_ends_the_job(run, start):
    code = f"import os\nos.write(3, b'{start}')\nwhile True:\n    os.write(3, b'x' * 5000)\n"
    outcome = run(code, limits=limits(output_bytes=10_000), answer=bytes)
    assert outcome.ended_by == "output" and not outcome.result


def test_results_count_together(run):
    code = "import os, time\nos.write(3, b'=123\\n' * 2001)\ntime.sleep(600)\n"
    outcome = run(code, limits=limits(output_bytes=8000))
    assert (outcome.ended_by, outcome.result) == ("output", b"123")


def test_a_program_makes_no_more_requests_than_it_may(run):
    answered: list[bytes] = []

    def answer(request: bytes) -> bytes:
        answered.append(request)
        return request

    code = "import os\nwhile True:\n    os.write(3, b'{}\\n')\n    os.read(4, 3)\n"
    outcome = run(code, limits=limits(requests=3), answer=answer)
    assert (outcome.ended_by, answered) == ("requests", [b"{}"] * 3)
