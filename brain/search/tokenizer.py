"""Splits text into the words that selectors compare."""

from __future__ import annotations

import re

MAX_QUERY_CHARS = 64 << 10
"""Characters of a task that are read."""

_WORD_PATTERN = re.compile(r"[^\W_]+")
_UNSPACED_RUN = re.compile(
    "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f]+"
)
"""Scripts without spaces between words: kana, Han, Hangul."""

STOP_WORDS = frozenset(
    """
    a about after again all also am an and any anything are as at be because been before being
    but by can cannot could did do does doing don each else every everything for from get gets
    give go going good got had has have having help her here him his how however i if in into is
    it its just keep keeps know let like make makes making many me more most much must my need
    needs no not nothing now of off on one only onto or other our out over own per please put
    really same shall she should show so some somebody someone something still such take tell
    than that the their them then there these they thing things this those through to too under
    until up upon us use used user users uses using very via want wants was way we well were what
    when whenever where whether which while who whom whose why will with within without would
    yet you your
    """.split()
)
"""Words that carry no meaning for the choice of a skill."""


def split_words(text: str) -> list[str]:
    """Return the words of `text` in lower case; hyphens, dots and underscores separate them."""
    return _WORD_PATTERN.findall(text.casefold())


def split_unspaced_runs(text: str) -> str:
    """Return `text` with runs of scripts without spaces split into overlapping pairs."""
    return text if text.isascii() else _UNSPACED_RUN.sub(_character_bigrams, text)


def _character_bigrams(run: re.Match[str]) -> str:
    text = run[0]
    pairs = [text[at : at + 2] for at in range(max(len(text) - 1, 1))]
    return f" {' '.join(pairs)} "
