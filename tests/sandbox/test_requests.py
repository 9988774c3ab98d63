"""Requests, answers and results over descriptors 3 and 4, also of programs that misuse them."""

import threading

import pytest


def test_each_request_gets_its_answer_in_the_callers_thread(run):
    threads = set()

    def answer(request: bytes) -> bytes:
        threads.add(threading.get_ident())
        return b"answer to " + request

    code = (
        "import os\n"
        "for number in range(3):\n"
        "    os.write(3, b'%d\\n' % number)\n"
        "    print(os.read(4, 100))\n"
    )
    outcome = run(code, answer=answer)
    assert outcome.stdout.splitlines() == [repr(b"answer to %d\n" % n).encode() for n in range(3)]
    assert threads == {threading.get_ident()}


def test_requests_written_at_once_are_answered_in_order(run):
    code = "import os\nos.write(3, b'a\\nb\\nc\\n')\nprint(open(4).read(6).split())\n"
    assert run(code, answer=bytes.upper).stdout == b"['A', 'B', 'C']\n"


def test_a_long_request_and_answer_arrive_whole(run):
    code = (
        "import os\n"
        "line = b'x' * 500_000 + b'\\n'\n"
        "while line:\n"
        "    line = line[os.write(3, line):]\n"
        "answer = open(4).readline()\n"
        "print(len(answer), set(answer.strip()))\n"
    )
    outcome = run(code, answer=lambda request: request.replace(b"x", b"yz"))
    assert outcome.stdout.startswith(b"1000001 ")


def test_the_last_result_counts(run):
    code = "import os\nos.write(3, b'=1\\n={\"a\": 2}\\n')\n"
    assert run(code).result == b'{"a": 2}'


def test_a_result_is_not_read_from_the_outputs(run):
    outcome = run("print('=1', flush=True)")
    assert (outcome.result, outcome.stdout) == (None, b"=1\n")


def test_a_result_without_the_end_of_its_line_is_none(run):
    assert run("import os; os.write(3, b'=1\\n=2')").result == b"1"


@pytest.mark.parametrize("request_line", [b"{}", b"", b" =1", b"?"])
def test_a_request_that_nothing_answers_ends_the_job(run, request_line):
    code = f"import os, time; os.write(3, {request_line + bytes([10])!r}); time.sleep(600)"
    outcome = run(code)
    assert (outcome.ended_by, outcome.result) == ("requests", None)


def test_a_program_may_close_its_descriptors(run):
    code = "import os\nfor number in (0, 2, 3, 4):\n    os.close(number)\nprint('works')\n"
    outcome = run(code, answer=bytes)
    assert (outcome.ended_by, outcome.status, outcome.stdout) == ("exit", 0, b"works\n")


def test_an_answer_to_closed_descriptors_is_dropped(run):
    code = "import os\nos.close(4)\nos.write(3, b'{}\\n={}\\n')\n"
    outcome = run(code, answer=lambda request: b"x" * 500_000)
    assert (outcome.ended_by, outcome.result) == ("exit", b"{}")


def test_a_program_that_never_reads_its_answers_is_ended(run):
    code = "import os, time\nwhile True:\n    os.write(3, b'{}\\n')\n"
    sizes: list[int] = []

    def answer(request: bytes) -> bytes:
        sizes.append(1 << 20)
        return b"x" * (1 << 20)

    assert run(code, answer=answer).ended_by == "requests"
    assert sum(sizes) <= 3 << 20


def test_a_request_of_a_program_that_has_ended_is_not_answered(run):
    asked = []

    def answer(request: bytes) -> bytes:
        asked.append(request)
        return b""

    code = "import os\nos.write(3, b'first\\n')\nos.read(4, 1)\nos.write(3, b'half a line')\n"
    assert run(code, answer=answer).ended_by == "exit"
    assert asked == [b"first"]
