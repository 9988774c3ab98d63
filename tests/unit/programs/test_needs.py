"""Needs and fixtures of wrong kinds are typed errors that name the field."""

import json

import pytest

from brain.errors import InvalidInput
from brain.programs.needs import (
    MAX_NEEDS,
    MAX_REQUESTS,
    NO_NEEDS,
    WebRequest,
    parse_needs,
    read_fixture_files,
    read_fixtures,
    read_needs,
)
from brain.programs.program import Program
from tests.support.refusals import raises_code

HOST = {"hosts": ["api.example.org"]}


def program(needs: object, fixtures: object = None, **files: str) -> Program:
    """Return a program with needs and recorded answers; `files` have `__` for `/`."""
    content = {"skill.py": b"print(1)", "tests/needs.json": json.dumps(needs).encode()}
    if fixtures is not None:
        content["tests/fixtures/requests.json"] = json.dumps(fixtures).encode()
    content |= {f"tests/fixtures/{k.replace('__', '/')}": v.encode() for k, v in files.items()}
    return Program(slug="x", files=content)


@pytest.mark.parametrize(
    ("needs", "said"),
    [
        ([], "not an object"),
        ({"root": True}, "there is no need root"),
        *(
            ({"hosts": [host]}, f"hosts: {host} is not a name, in lower case")
            for host in (
                *("api.example.org:8443", "user@api.example.org", "https://api.example.org"),
                *("127.0.0.1", "2130706433", "[::1]", "0x7f.1", "API.example.org", "localhost"),
                *("api.example.org/x", "a..b.org", "-a.org"),
            )
        ),
        ({"hosts": "api.example.org"}, "hosts: they are not a list"),
        ({"hosts": [1]}, "hosts: 1 is not a name"),
        ({"hosts": ["a.example.org"] * (MAX_NEEDS + 1)}, "at most 32"),
        ({"skills": ["word-count"]}, "skills: word-count is not a name"),
        ({"minutes": 31}, "minutes: it is not a number from 0 to 30"),
        ({"minutes": True}, "minutes: it is not a number"),
        ({"memory_mb": "1"}, "memory_mb: it is not a number"),
        ({"secrets": {"API_TOKEN": {"host": "a.org"}}}, "the host of API_TOKEN is not among"),
        ({**HOST, "secrets": {"token": {"host": "api.example.org"}}}, "token is not a name such"),
        ({**HOST, "secrets": {"API_TOKEN": "x"}}, "API_TOKEN is not a name such"),
        (
            {**HOST, "secrets": {"API_TOKEN": {"host": "api.example.org", "header": "a b"}}},
            "goes into no header",
        ),
    ],
)
def test_needs_that_name_no_such_thing_are_refused(needs, said):
    with raises_code("bad_needs", InvalidInput) as caught:
        parse_needs(needs)
    assert said in caught.value.message and caught.value.hint


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ({}, "not a list of at most"),
        ([{"url": "https://api.example.org/"}] * (MAX_REQUESTS + 1), "not a list of at most"),
        ([1], "request 1 is not an object"),
        ([{"url": 1}], "request 1 is not an object"),
        ([{"url": "https://api.example.org/", "code": 200}], "unknown field code"),
        ([{"url": "https://other.org/"}], "is not at one of the hosts"),
        ([{"url": "http://api.example.org/"}], "is not at one of the hosts"),
        ([{"url": "https://api.example.org@other.org/"}], "is not at one of the hosts"),
        ([{"url": "https://api.example.org/", "method": "get"}], "the method is not one of GET"),
        ([{"url": "https://api.example.org/", "status": "200"}], "the status is not a number"),
        ([{"url": "https://api.example.org/", "headers": {"a": 1}}], "headers are not an object"),
        ([{"url": "https://api.example.org/", "body_base64": "%"}], "is not base64"),
    ],
)
def test_fixtures_of_wrong_kinds_are_refused(rows, said):
    with raises_code("bad_fixtures", InvalidInput) as caught:
        read_fixtures(program(HOST, rows), parse_needs(HOST))
    assert said in caught.value.message and caught.value.hint


def test_a_recorded_answer_covers_its_request_and_no_other():
    rows = [
        {"url": "https://api.example.org/a", "body": {"n": 1}},
        {"url": "https://api.example.org/a", "method": "POST", "request_body": "x", "status": 201},
        {"url": "https://api.example.org/b?q=*", "body_base64": "/w=="},
    ]
    fixtures = read_fixtures(program(HOST, rows), parse_needs(HOST))

    def ask(url: str, method: str = "GET", body: bytes = b"") -> object:
        request = WebRequest(url=f"https://api.example.org/{url}", method=method, body=body)
        answer = fixtures.find_answer(request)
        return None if answer is None else (answer.status, answer.body)

    assert ask("a") == (200, b'{"n": 1}')
    assert ask("a", "POST", b"x") == (201, b"") and ask("a", "POST", b"y") is None
    assert ask("b?q=1%202") == (200, b"\xff") and ask("b") is None and ask("a/") is None


def test_files_that_are_damaged_and_objects_of_wrong_kinds_are_refused():
    broken = Program(slug="x", files={"skill.py": b"", "tests/needs.json": b"{"})
    with raises_code("bad_needs", InvalidInput, match="is not JSON"):
        read_needs(broken)
    assert read_needs(Program(slug="x", files={"skill.py": b""})) == NO_NEEDS
    for value in ({"x": 1}, {"folders": []}, {"folders": {"a": 1}}, {"files": {"a": 1}}):
        with raises_code("bad_fixtures", InvalidInput):
            read_fixture_files(value)
