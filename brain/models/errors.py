"""Map the errors of pydantic-ai to ModelError."""

from __future__ import annotations

import httpx2
from pydantic_ai import exceptions

from ..errors import ModelError, printable_text
from ..secrets import mask_remote_message


class ResponseTooLarge(Exception):
    """A response is too large, or compressed, so that its size is unknown."""


_Kind = type[BaseException] | tuple[type[BaseException], ...]
_ERROR_KINDS: tuple[tuple[_Kind, str, str, str], ...] = (
    (
        exceptions.ModelAuthenticationError,
        "key_refused",
        "the key is refused",
        "check the key and its access to this model",
    ),
    (exceptions.ModelQuotaExceededError, "quota", "the quota is used up", "check the account"),
    (exceptions.ModelRateLimitError, "rate_limited", "too many requests", "try again later"),
    (
        exceptions.ModelNotFoundError,
        "no_such_model",
        "there is no such model",
        "see `brain config model`",
    ),
    (
        exceptions.ModelContextWindowExceededError,
        "too_long",
        "the transcript is too long for it",
        "use a model with a larger context",
    ),
    (
        (exceptions.ModelTimeoutError, TimeoutError),
        "model_timeout",
        "it gave no answer in time",
        "allow more seconds with `brain config model.timeout SECONDS`",
    ),
    (exceptions.ModelConnectionError, "unreachable", "it cannot be reached", "check the address"),
    (exceptions.ModelUnavailableError, "unavailable", "it is overloaded", "try again later"),
    (exceptions.ModelServerError, "unavailable", "it has failed", "try again later"),
    (
        (exceptions.ModelRequestRejectedError, exceptions.ModelHTTPError),
        "rejected",
        "it refuses the request",
        "check the address and the name of the model in `brain config model`",
    ),
    (
        exceptions.UserError,
        "bad_model",
        "it cannot be used with these settings",
        "see `brain config model`",
    ),
)
"""What pydantic-ai raises, the first that fits, and what it is called here: code, words, hint."""
TRANSIENT_CODES = ("rate_limited", "unavailable", "unreachable")
"""Codes of failures after which a further attempt may succeed."""
_LOST_CODES = ("answer_too_large", "bad_answer", "model_timeout", "unreachable")
"""Codes of failures after which an answer may have been made, and paid."""
_UNSENT = (httpx2.ConnectError, httpx2.ConnectTimeout, exceptions.UserError)
_MAX_DETAIL_CHARS = 160


def map_error(name: str, key: str, error: BaseException, url: str = "") -> ModelError:
    """Return the `ModelError` for an error raised while asking the model `name` at `url`."""
    chain = _cause_chain(error)
    code, words, hint = _name_error(chain, key, url)
    problem = ModelError(f"{printable_text(name, 80)}: {words}", code=code, hint=hint)
    problem.requests = int(not any(isinstance(cause, _UNSENT) for cause in chain))
    problem.lost = problem.requests if code in _LOST_CODES else 0
    return problem


def _name_error(chain: list[BaseException], key: str, url: str) -> tuple[str, str, str]:
    for cause in chain:
        if isinstance(cause, ResponseTooLarge):
            words = f"its answer is refused: {cause}"
            return "answer_too_large", words, "ask for less, or use another model"
    details = _error_details(chain[0], key, url)
    for kind, code, words, hint in _ERROR_KINDS:
        if isinstance(chain[0], kind):
            return code, words + details, hint
    for cause in chain:
        if type(cause).__module__ == "botocore.exceptions":  # such as no region, no credentials
            detail = printable_text(mask_remote_message(str(cause), url, key), _MAX_DETAIL_CHARS)
            words = f"it cannot be used with these settings: {detail}"
            return "bad_model", words, "check the settings of AWS"
    return "bad_answer", "its answer breaks the protocol" + details, "check the address"


def retry_after(error: BaseException) -> float | None:
    """Return the seconds that the endpoint asked to wait, None if it did not."""
    return error.retry_after if isinstance(error, exceptions.ModelAPIError) else None


def _error_details(error: BaseException, key: str, url: str) -> str:
    """Return the endpoint's own message, cut, without the key that it may repeat."""
    status = f"status {error.status_code}" if isinstance(error, exceptions.ModelHTTPError) else ""
    body = error.body if isinstance(error, exceptions.ModelAPIError) else None
    inner = body.get("error", body) if isinstance(body, dict) else None
    message = inner.get("message") if isinstance(inner, dict) else None
    text = mask_remote_message(message if isinstance(message, str) else "", url, key)
    parts = [*filter(None, (status, printable_text(" ".join(text.split()), _MAX_DETAIL_CHARS)))]
    return f" ({': '.join(parts)})" if parts else ""


def _cause_chain(error: BaseException | None) -> list[BaseException]:
    chain: list[BaseException] = []
    while error is not None and error not in chain:
        chain.append(error)
        error = error.__cause__ or error.__context__
    return chain
