"""Answer the requests of a running skill: calls of other skills, approved hosts, progress.

Nothing else is answered. All runs below one call share limits, and a list of what was asked, which
goes into the receipt.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from ..errors import BrainError, InvalidInput, SandboxError, printable_text
from ..programs.needs import NO_NEEDS, Needs, WebAnswer, WebRequest
from ..programs.program import fit_summary
from ..util import strict_json
from .fetch import check_request, read_text, send_request
from .run import RunOutcome

MAX_CALL_DEPTH = 4
"""Skills that call one another, the first one included."""
MAX_CALLS = 64
"""Calls and fetches below one call, in sum."""
MAX_BROKER_BYTES = 48 << 20
"""Of requests and answers below one call, in sum."""
MAX_REQUEST_DEPTH = 32
_MAX_REQUEST_VALUES = 100_000
_MAX_NAME_CHARS = 64
_MAX_MESSAGE_CHARS = 200
MIN_SECRET_CHARS = 8
"""A shorter one would be found in too many texts to be taken out of them."""
_MIN_MASKED = 6
"""Bytes of a form of a secret; shorter ones would take common letters out of any text."""

RunSkill = Callable[[str, dict[str, Any], "Broker"], RunOutcome]
"""Finds and runs an admitted skill by the name of its tool, with the payload and its own broker."""
OnProgress = Callable[[float, str], None]
Fetch = Callable[[WebRequest, Collection[str], Mapping[str, Mapping[str, str]]], WebAnswer]
"""Answers a request to one of some hosts, with headers by host that the skill never sees."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerCall:
    """What a skill asked for: the tool or the URL, by whom, and how it went.

    `depth` is 1 for what the first skill asked. `error` is "" if it was answered.
    """

    kind: Literal["call", "fetch"]
    caller: str
    target: str
    depth: int
    error: str = ""
    bytes: int = 0
    wall_ms: int = 0


class Broker:
    """Answers for one run; `answer` is that of its `SandboxJob`. One thread uses it."""

    def __init__(
        self,
        name: str,
        *,
        run_skill: RunSkill | None = None,
        on_progress: OnProgress | None = None,
    ) -> None:
        """`name` is that of the skill's tool. Until `approve`, it may ask no host."""
        self._chain: tuple[str, ...] = (name,)
        self._hosts: frozenset[str] = frozenset()
        self._secrets = SecretValues()
        self._send: Fetch = send_request
        self._run_skill, self._on_progress = run_skill, on_progress
        self._first = self  # which has what all brokers below one call share
        self._calls: list[BrokerCall] = []
        self._asked = self._bytes = 0

    @property
    def calls(self) -> tuple[BrokerCall, ...]:
        """What was asked below the call, in the order in which it ended."""
        return tuple(self._first._calls)

    def approve(
        self,
        hosts: Collection[str],
        secrets: SecretValues | None = None,
        fetch: Fetch | None = None,
    ) -> None:
        """Let this run ask hosts, with secrets, which the user approved for its program."""
        self._hosts = frozenset(hosts)
        self._secrets = secrets or self._secrets
        self._send = fetch or self._send

    def answer(self, line: bytes) -> bytes:
        """Return the answer to a request: `{"output": …}`, or `{"error": "…"}`."""
        try:
            answer = {"output": self._answer(line)}
        except SandboxError:
            raise
        except BrainError as error:
            answer = {"error": fit_summary(error.message)}
        return json.dumps(answer).encode()

    def _answer(self, line: bytes) -> Any:
        self._count_bytes(len(line))
        request = _parse_request(line)
        match request:
            case {"progress": int() | float() as fraction, **rest} if rest.keys() <= {"message"}:
                if self._on_progress is not None:
                    shown = printable_text(rest.get("message", ""), _MAX_MESSAGE_CHARS)
                    self._on_progress(min(max(float(fraction), 0.0), 1.0), shown)
                return None
            case {"fetch": str(url), **rest} if rest.keys() <= {"method", "headers", "body"}:
                return self._note("fetch", url, lambda: self._fetch(url, rest))
            case {"call": str(name), **rest} if rest.keys() <= {"payload"}:
                payload = rest.get("payload", {})
                if isinstance(payload, dict):
                    return self._note("call", name, lambda: self._call(name, payload))
        raise _refused('ask with {"call": …, "payload": {…}}, {"fetch": …} or {"progress": …}')

    def _note(self, kind: Literal["call", "fetch"], target: str, ask: Callable[[], Any]) -> Any:
        first, began = self._first, time.monotonic()
        error, size = "", 0
        try:
            first._asked += 1
            if first._asked > MAX_CALLS:
                raise _refused(f"more than {MAX_CALLS} calls and fetches were made")
            output = ask()
            size = len(json.dumps(output))
            self._count_bytes(size)
            return output
        except BrainError as failure:
            error = fit_summary(failure.message)
            raise
        finally:
            if first._asked <= MAX_CALLS + 1:
                first._calls.append(
                    BrokerCall(
                        kind=kind,
                        caller=self._chain[-1],
                        target=printable_text(target),
                        depth=len(self._chain),
                        error=error,
                        bytes=size,
                        wall_ms=round((time.monotonic() - began) * 1000),
                    )
                )

    def _fetch(self, url: str, parts: Mapping[Any, Any]) -> Any:
        """Return the text at a URL; with a method, the whole answer, whatever its status."""
        if not self._hosts:
            raise _refused("no host is approved for this skill")
        method, headers = parts.get("method", "GET"), parts.get("headers", {})
        if not isinstance(method, str) or not isinstance(headers, dict):
            raise _refused("the method is a text, and the headers are an object")
        if not all(isinstance(value, str) for value in headers.values()):
            raise _refused("the headers are texts")
        try:
            body = base64.b64decode(parts.get("body", ""), validate=True)
        except (TypeError, ValueError) as error:
            raise _refused("the body is not base64") from error
        request = WebRequest(url=url, method=method, headers=headers, body=body)
        check_request(request)
        mask = self._secrets.mask
        try:
            answer = self._send(request, self._hosts, self._secrets.headers)
        except BrainError as error:
            raise _refused(mask(error.message.encode()).decode()) from error
        body = mask(answer.body)
        if not parts:
            return read_text(replace(answer, body=body))
        return {
            "status": answer.status,
            "headers": {
                name: mask(value.encode()).decode("utf-8", "replace")
                for name, value in answer.headers.items()
            },
            "body": base64.b64encode(body).decode(),
        }

    def _call(self, name: str, payload: dict[str, Any]) -> Any:
        run_skill = self._run_skill
        if run_skill is None:
            raise _refused("it can call no other skill here")
        if len(name) > _MAX_NAME_CHARS or not name.isidentifier():
            raise _refused(f"'{printable_text(name, 40)}' is not the name of a tool")
        if name in self._chain:
            raise _refused(
                f"{name} runs already: skills do not call themselves, over others either"
            )
        if len(self._chain) >= MAX_CALL_DEPTH:
            raise _refused(f"skills call one another at most {MAX_CALL_DEPTH} deep")
        # Its progress is not that of the call.
        inner = Broker(name, run_skill=run_skill)
        inner._chain, inner._first, inner._send = (*self._chain, name), self._first, self._send
        outcome = run_skill(name, payload, inner)
        if not outcome.ok:
            raise _refused(f"{name} failed: {outcome.error}")
        return outcome.output

    def _count_bytes(self, size: int) -> None:
        self._first._bytes += size
        if self._first._bytes > MAX_BROKER_BYTES:
            raise _refused(f"more than {MAX_BROKER_BYTES} bytes were asked and answered")


class SecretValues:
    """Values of secrets: headers by host, and what takes them out of what a skill gets to see."""

    def __init__(self, needs: Needs = NO_NEEDS, values: Mapping[str, str] | None = None) -> None:
        """`values` are by name, for the secrets that `needs` name."""
        self.headers: dict[str, dict[str, str]] = {}
        self._masks: list[tuple[bytes, bytes]] = []
        for name, value in (values or {}).items():
            secret = needs.secrets[name]
            self.headers.setdefault(secret.host, {})[secret.header] = secret.before + value
            shown = f"[{name}]".encode()
            for form in _forms_of_secret(value, secret.before):
                self._masks.append((form, shown))
        self._masks.sort(key=lambda pair: -len(pair[0]))

    def mask(self, data: bytes) -> bytes:
        """Return data with the names of secrets in the place of their values."""
        for form, shown in self._masks:
            data = data.replace(form, shown)
        return data

    def mask_value(self, value: Any) -> Any:
        """Return a JSON value without the values of secrets, also in names of fields."""
        if isinstance(value, str):
            return self.mask(value.encode("utf-8", "surrogatepass")).decode(
                "utf-8", "surrogatepass"
            )
        if isinstance(value, list):
            return [self.mask_value(item) for item in value]
        if isinstance(value, dict):
            return {self.mask_value(name): self.mask_value(item) for name, item in value.items()}
        return value


def _forms_of_secret(value: str, before: str) -> set[bytes]:
    """Return a secret as services echo it: as it is, in JSON, in a URL, in base64 and in hex."""
    from urllib.parse import quote, quote_plus

    forms = {value, json.dumps(value)[1:-1], quote(value, safe=""), quote_plus(value)}
    out = {form.encode() for form in forms}
    for raw in (value.encode(), (before + value).encode()):
        for shift in range(3):  # base64 of a text in a longer one begins at one of three places
            coded = base64.b64encode(b"\0" * shift + raw)[(0, 2, 3)[shift] : -4]
            out.add(coded)
        out |= {base64.b64encode(raw), raw.hex().encode()}
    return {form for form in out if len(form) >= _MIN_MASKED}


def _parse_request(line: bytes) -> Any:
    if strict_json.count_values(line, _MAX_REQUEST_VALUES) > _MAX_REQUEST_VALUES:
        raise _refused("the request has too many values")
    try:
        return strict_json.parse_bounded(line, MAX_REQUEST_DEPTH)
    except ValueError as error:
        raise _refused(f"the request cannot be read: {error}") from error


def _refused(reason: str) -> InvalidInput:
    return InvalidInput(reason, code="request_refused")
