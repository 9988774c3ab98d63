"""What a skill imports inside the sandbox: its base class, its types, and what it may ask for.

It imports nothing of the project, and little of the standard library, since it is loaded at each
run. `call`, `fetch`, `request` and `progress` ask the program outside, which decides.
"""

import json
import posix

CAPABILITY_LEVELS = ("safe", "monitored", "controlled", "restricted", "privileged")
PARAM_TYPES = ("string", "integer", "float", "boolean")
_MOST_SAID = 1000
_said = []


class SkillError(Exception):
    """A request that was refused, or that failed outside."""


class SkillParam:
    """A parameter of a skill."""

    def __init__(self, name, param_type="string", description="", required=True, default=None):
        self.name = name
        self.param_type = str(getattr(param_type, "value", param_type))
        self.description = description
        self.required = required
        self.default = default


class ParamType:
    """The types of parameters by name."""

    STRING, INTEGER, FLOAT, BOOLEAN = PARAM_TYPES


class SkillParameter(SkillParam):
    """A parameter, with the names of arguments that other pages use."""

    def __init__(self, name, type="string", description="", required=True, default=None):
        super().__init__(name, type, description, required, default)
        self.type = self.param_type


class SkillDefinition:
    """What a skill says of itself."""

    def __init__(
        self,
        name,
        description="",
        params=None,
        category="generated",
        requires_confirmation=False,
        enabled=True,
        timeout_seconds=30,
        cooldown_seconds=0,
        capability_level="safe",
        parameters=None,
    ):
        self.name = name
        self.description = description
        self.params = list(params if params is not None else parameters or ())
        self.category = category
        self.requires_confirmation = requires_confirmation
        self.enabled = enabled
        self.timeout_seconds = timeout_seconds
        self.cooldown_seconds = cooldown_seconds
        self.capability_level = str(getattr(capability_level, "value", capability_level))


class SkillResult:
    """What a run gave."""

    def __init__(self, skill_name="", success=True, output="", error="", execution_ms=0):
        self.skill_name = skill_name
        self.success = success
        self.output = output
        self.error = error
        self.execution_ms = execution_ms


class SkillBase:
    """The base class of a skill: `definition()`, and `execute()` with its parameters."""

    name = ""

    def definition(self):
        """Return the `SkillDefinition`."""
        raise NotImplementedError

    async def execute(self, **parameters):
        """Return the `SkillResult`."""
        raise NotImplementedError


def call(name, **payload):
    """Return the output of another admitted skill. Raises `SkillError`."""
    return _ask({"call": name, "payload": payload})


def fetch(url, method="", headers=None, body=None):
    """Return the text at a URL of a host that the user approved. Raises `SkillError`."""
    if not method and headers is None and body is None:
        return _ask({"fetch": url})
    answer = request(url, method or ("GET" if body is None else "POST"), headers, body)
    if not 200 <= answer.status < 300:
        raise SkillError(f"not fetched: it answered with status {answer.status}")
    return answer.text


def request(url, method="GET", headers=None, body=None):
    """Return the `Response` of a host that the user approved, whatever its status.

    `body` is bytes, a text, or a value that is sent as JSON. Raises `SkillError`.
    """
    import base64

    headers = {str(name): str(value) for name, value in (headers or {}).items()}
    if body is not None and not isinstance(body, (bytes, str)):
        body = json.dumps(body)
        if not any(name.lower() == "content-type" for name in headers):
            headers["Content-Type"] = "application/json"
    raw = body.encode() if isinstance(body, str) else bytes(body or b"")
    coded = base64.b64encode(raw).decode()
    answer = _ask({"fetch": url, "method": method, "headers": headers, "body": coded})
    return Response(answer["status"], answer["headers"], base64.b64decode(answer["body"]))


class Response:
    """What a host answered: `status`, `headers` with names in lower case, `body`, `text`."""

    def __init__(self, status, headers, body):
        self.status = status
        self.headers = {name.lower(): value for name, value in headers.items()}
        self.body = body

    @property
    def text(self):
        """The body as text in UTF-8."""
        return self.body.decode("utf-8", "replace")

    def json(self):
        """Return the body as JSON."""
        return json.loads(self.body)


def progress(fraction, message=""):
    """Say how far the work is, from 0 to 1; after a thousand times, nothing is said."""
    if len(_said) < _MOST_SAID:
        _said.append(fraction)
        _ask({"progress": fraction, "message": str(message)})


def _ask(request):
    line = json.dumps(request).encode() + b"\n"
    while line:
        line = line[posix.write(3, line) :]
    answer = b""
    while not answer.endswith(b"\n"):
        part = posix.read(4, 65536)
        if not part:
            raise SkillError("no answer came")
        answer += part
    value = json.loads(answer)
    if "error" in value:
        raise SkillError(value["error"])
    return value.get("output")
