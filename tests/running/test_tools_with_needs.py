"""Tools that touch the world: tried over fixtures alone, and run with what a person approved."""

import base64
import json
from typing import Any

import pytest

from brain.programs.needs import Needs, Secret, WebAnswer, WebRequest
from brain.programs.program import Program
from brain.running.broker import Broker, SecretValues
from brain.running.run import run_program
from brain.running.trial import Trial, try_program
from brain.sandbox.job import Sandbox, SandboxLimits
from tests.running.programs import COUNT, TEXT_SCHEMA, build_program, word_count

PATIENT = SandboxLimits(wall_seconds=120)
HOST = {"hosts": ["api.example.org"]}
WEATHER = """
import json, sys
from urllib.parse import quote
from urllib.request import urlopen

city = json.loads(sys.argv[1])["city"]
with urlopen(f"https://api.example.org/weather?city={quote(city)}") as answer:
    found = json.load(answer)
print(json.dumps({"city": city, "celsius": found["temp"]}))
"""
WEATHER_CHECK = """
def check(payload, output):
    assert output == {"city": payload["city"], "celsius": len(payload["city"])}, output
"""
CITIES = ("Oslo", "Bergen", "Roma")
RECORDED = [
    {"url": f"https://api.example.org/weather?city={city}", "body": {"temp": len(city)}}
    for city in CITIES
]


def add_needs(program: Program, needs: Any, fixtures: Any = (), **files: bytes) -> Program:
    """Return a program with needs, recorded answers and other files of its fixtures."""
    more = {"tests/needs.json": json.dumps(needs).encode()}
    if fixtures:
        more["tests/fixtures/requests.json"] = json.dumps(fixtures).encode()
    more |= {f"tests/fixtures/{path}": data for path, data in files.items()}
    return Program(slug=program.slug, files={**program.files, **more})


def weather(code: str = WEATHER, fixtures: Any = RECORDED) -> Program:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    cases = [{"payload": {"city": city}} for city in CITIES]
    program = build_program(code, schema=schema, cases=cases, check=WEATHER_CHECK, slug="weather")
    return add_needs(program, HOST, fixtures)


def attempt(sandbox: Sandbox, program: Program, **options: Any) -> Trial:
    return try_program(
        sandbox, program, **{"seed": 3, "decided_by": "trial", "limits": PATIENT, **options}
    )


@pytest.mark.parametrize(
    "code",
    [
        WEATHER,
        WEATHER.replace("from urllib.request import urlopen", "from skillapi import request")
        .replace("with urlopen(", "answer = request(")
        .replace(") as answer:\n    found = json.load(answer)", ")\nfound = answer.json()"),
    ],
    ids=["urllib", "skillapi"],
)
def test_a_tool_that_asks_a_host_is_admitted_from_its_fixtures(sandbox, code):
    verdict = attempt(sandbox, weather(code)).verdict
    assert (verdict.decision, verdict.reason) == ("admit", "")
    assert [case.kind for case in verdict.cases].count("author") == len(CITIES)


@pytest.mark.parametrize(
    "code",
    [WEATHER, f"try:\n{WEATHER.replace(chr(10), chr(10) + '    ')}\nexcept OSError:\n    print(1)"],
    ids=["fails", "goes on without"],
)
def test_a_request_that_no_fixture_covers_fails_the_trial_by_name(sandbox, code):
    verdict = attempt(sandbox, weather(code, RECORDED[1:])).verdict
    assert verdict.decision == "reject"
    assert verdict.reason == (
        "author 1: no fixture covers GET https://api.example.org/weather?city=Oslo"
    )


def test_a_composite_is_admitted_with_the_programs_that_it_calls_and_their_fixtures(sandbox):
    code = (
        "import json, sys\nfrom skillapi import call\n"
        "print(json.dumps(call('weather', **json.loads(sys.argv[1]))))\n"
    )
    skills = {"weather": weather()}
    composite = Program(slug="composite", files={**weather(code).files})
    composite = add_needs(composite, {"skills": ["weather"]})
    del composite.files["tests/fixtures/requests.json"]
    assert attempt(sandbox, composite, find_called=skills.get).verdict.decision == "admit"
    skills["weather"] = weather(fixtures=RECORDED[:2])
    reason = attempt(sandbox, composite, find_called=skills.get).verdict.reason
    assert "no fixture covers GET https://api.example.org/weather?city=Roma" in reason


def test_sample_folders_and_files_are_where_the_approved_ones_will_be(sandbox):
    code = (
        "import json, pathlib, sys\nword = json.loads(sys.argv[1])['text']\n"
        "texts = [p.read_text() for p in sorted(pathlib.Path('/folders/logs').rglob('*.log'))]\n"
        "more = pathlib.Path('/job/files/extra.txt').read_text()\n"
        "print(json.dumps({'hits': sum(t.count(word) for t in texts), 'more': more}))\n"
    )
    check = (
        "def check(payload, output):\n"
        "    text = 'a b a' + 'b b'\n"
        "    assert output == {'hits': 'a b a'.count(payload['text']) +"
        " 'b b'.count(payload['text']), 'more': 'x'}\n"
    )
    cases = [{"payload": {"text": text}} for text in ("a", "b")]
    program = word_count(code, check=check, cases=cases)
    files = {"folders/logs/a.log": b"a b a", "folders/logs/in/b.log": b"b b"}
    needs = {"folders": {"logs": "read"}, "files": ["extra.txt"]}
    program = add_needs(program, needs, **files, **{"files/extra.txt": b"x"})
    verdict = attempt(sandbox, program).verdict
    assert (verdict.decision, verdict.reason) == ("admit", "")


def test_needs_give_more_time_and_memory_than_every_program_has(sandbox):
    short = SandboxLimits(wall_seconds=1, memory_bytes=64 << 20)
    code = "x = bytearray(100 << 20)\nimport time\ntime.sleep(1.2)\nprint(len(x) >> 20)\n"
    program = add_needs(build_program(code), {"minutes": 2, "memory_mb": 256})
    assert run_program(sandbox, build_program(code), {}, limits=short).ok is False
    assert run_program(sandbox, program, {}, limits=short).output == 100


SECRET = "s3cr3t/Value+42=="
SECRETS = SecretValues(
    Needs(secrets={"API_TOKEN": Secret(host="api.example.org", before="Bearer ")}),
    {"API_TOKEN": SECRET},
)


def test_a_secret_goes_to_its_host_alone_and_no_form_of_it_comes_back(sandbox):
    sent: list[tuple[str, dict[str, dict[str, str]]]] = []

    def echo(request: WebRequest, hosts: Any, secrets: Any) -> WebAnswer:
        """Answer with all that a service may make of a header."""
        sent.append((request.url, secrets))
        value = secrets["api.example.org"]["Authorization"]
        coded = [base64.b64encode(b"x" * n + value.encode()).decode() for n in range(3)]
        return WebAnswer(headers={"X-Echo": value}, body=json.dumps([value, *coded]).encode())

    code = (
        "import json\nfrom skillapi import request\n"
        "answer = request('https://api.example.org/', headers={'Authorization': 'mine'})\n"
        "print(json.dumps([answer.text, answer.headers]))\n"
    )
    broker = Broker("x")
    broker.approve(["api.example.org"], SECRETS, echo)
    program = add_needs(build_program(code), HOST)
    shown = json.dumps(run_program(sandbox, program, {}, answer=broker.answer).output)
    assert sent == [
        ("https://api.example.org/", {"api.example.org": {"Authorization": f"Bearer {SECRET}"}})
    ]
    assert "[API_TOKEN]" in shown and SECRET not in shown
    for shift in range(3):
        coded = base64.b64encode(b"x" * shift + f"Bearer {SECRET}".encode()).decode()
        assert coded[16:-8] not in shown
    assert all(SECRET not in str(call) for call in broker.calls)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"method": "CONNECT"}, "CONNECT is not one of GET"),
        ({"method": 1}, "the method is a text"),
        ({"headers": {"Host": "b.org"}}, "Host is not a header that a skill may send"),
        ({"headers": {"Content-Length": "9"}}, "Content-Length is not a header"),
        ({"headers": {"X": "a\r\nHost: b"}}, "X is not a header"),
        ({"headers": {"X": 1}}, "the headers are texts"),
        ({"headers": {str(n): "x" for n in range(40)}}, "more than 32 headers"),
        ({"body": "%"}, "the body is not base64"),
        ({"other": 1}, "ask with"),
    ],
)
def test_requests_that_no_skill_may_send_are_refused(asked, said):
    broker = Broker("x")
    broker.approve(["a.org"], fetch=lambda *_: WebAnswer())
    answer = json.loads(broker.answer(json.dumps({"fetch": "https://a.org/", **asked}).encode()))
    assert said in answer["error"]


def test_programs_without_needs_run_as_ever(sandbox):
    program = build_program(COUNT, schema=TEXT_SCHEMA)
    assert run_program(sandbox, program, {"text": "a b"}).output == 2
    assert program.id.hex() == program_id_of_an_older_version()


def program_id_of_an_older_version() -> str:
    """Return the id that the format gives to skill.py and schema.json alone."""
    from brain.digest import blob_id
    from brain.programs.program import id_of_files

    content = {"schema.json": json.dumps(TEXT_SCHEMA).encode(), "skill.py": COUNT.encode()}
    return id_of_files((path, blob_id(data)) for path, data in content.items()).hex()
