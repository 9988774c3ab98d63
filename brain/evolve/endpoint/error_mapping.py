"""Map the errors of pydantic-ai to ModelError."""

from __future__ import annotations

from pydantic_ai import exceptions as said

from ...errors import ModelError, printable_text
from ...secrets import mask_remote_message
from .bounded_http import ResponseTooLarge

_ERROR_KINDS: tuple[tuple[type[BaseException], str, str, str], ...] = (
    (
        said.ModelAuthenticationError,
        "key_refused",
        "the key is refused",
        "check the key, and that it may use this model",
    ),
    (said.ModelQuotaExceededError, "quota", "the quota is used up", "see the account it is of"),
    (said.ModelRateLimitError, "rate_limited", "too many requests", "try again later"),
    (
        said.ModelNotFoundError,
        "no_such_model",
        "no such model",
        "see `brain config model`",
    ),
    (
        said.ModelContextWindowExceededError,
        "too_long",
        "the transcript is too long for it",
        "take a model that reads more",
    ),
    (said.ModelTimeoutError, "model_timeout", "no answer in time", "see --timeout"),
    (said.ModelConnectionError, "unreachable", "it cannot be reached", "check the address"),
    (said.ModelUnavailableError, "unavailable", "it is overloaded", "try again later"),
    (said.ModelServerError, "unavailable", "it has failed", "try again later"),
    (said.ModelRequestRejectedError, "rejected", "it refuses the request", ""),
    (said.ModelHTTPError, "rejected", "it refuses the request", ""),
    (said.UserError, "bad_model", "it cannot be used so", "see `brain config model`"),
)
TRANSIENT_CODES = ("rate_limited", "unavailable", "unreachable")
"""Codes of failures that may be over at the next attempt."""
_MAX_DETAIL_CHARS = 160


def map_error(name: str, key: str, error: BaseException, url: str = "") -> ModelError:
    """Return the typed error for what went wrong while the model `name` was asked at `url`."""
    if isinstance(error, TimeoutError):
        return _model_error(name, "model_timeout", "no answer in time", "see --timeout")
    for cause in _cause_chain(error):
        if isinstance(cause, ResponseTooLarge):
            return _model_error(name, "answer_too_large", f"the answer is refused: {cause}", "")
    for kind, code, words, hint in _ERROR_KINDS:
        if isinstance(error, kind):
            return _model_error(name, code, words + _error_details(error, key, url), hint)
    for cause in _cause_chain(error):
        if type(cause).__module__ == "botocore.exceptions":  # such as no region, no credentials
            words = printable_text(mask_remote_message(str(cause), url, key), _MAX_DETAIL_CHARS)
            words = f"it cannot be used so: {words}"
            return _model_error(name, "bad_model", words, "see the settings of AWS")
    words = "it does not answer as its protocol says"
    return _model_error(
        name, "bad_answer", words + _error_details(error, key, url), "check the address"
    )


def retry_after(error: BaseException) -> float | None:
    """Return how many seconds the endpoint asked to wait, None if it did not say."""
    return error.retry_after if isinstance(error, said.ModelAPIError) else None


def _model_error(name: str, code: str, words: str, hint: str) -> ModelError:
    return ModelError(f"{printable_text(name, 80)}: {words}", code=code, hint=hint)


def _error_details(error: BaseException, key: str, url: str) -> str:
    """Return what the endpoint says of it, cut, and without the key that it may repeat."""
    status = f"status {error.status_code}" if isinstance(error, said.ModelHTTPError) else ""
    body = error.body if isinstance(error, said.ModelAPIError) else None
    inner = body.get("error", body) if isinstance(body, dict) else None
    message = inner.get("message") if isinstance(inner, dict) else None
    text = message if isinstance(message, str) else ""
    text = mask_remote_message(text, url, key)
    parts = [
        part for part in (status, printable_text(" ".join(text.split()), _MAX_DETAIL_CHARS)) if part
    ]
    return f" ({': '.join(parts)})" if parts else ""


def _cause_chain(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found
