"""A document that is saved again: what of the old one stays, what of the new one counts.

A bare body replaces the body. A body that brings its own front matter is merged:
its fields replace those of the same key line for line, other lines of the old
head stay, comments among them, and its version counts for nothing.
"""

from __future__ import annotations

import re

from ..errors import InvalidInput
from . import edit, parts
from .fields import BLOCK_MAP, FLOW_MAP, Field, Head
from .frontmatter import scan
from .parts import Parts
from .text import fold

_BLANK_LINES = re.compile(rb"(?:[ \t]*\r?\n)*")
_LINES_BELOW = re.compile(r"(?:(?:[ \t]*\r?\n)*[ \t]+#[^\n]*\n)*")
_BLANK_TEXT = re.compile(r"(?:[ \t]*\r?\n)*")


def merged(prior: Parts | None, incoming: Parts | None) -> Parts:
    """Return the document `prior` with the content of `incoming`, before any version is set.

    `prior` is None for a new skill or one whose head cannot be read; `incoming` is
    None if only other things change. The result may still lack front matter.
    """
    if prior is None:
        return incoming or Parts(b"", b"", "", b"", b"")
    if incoming is None:
        return prior
    if not incoming.opening:
        return _with_body(prior, incoming.body)
    if not prior.opening:
        return incoming._replace(bom=prior.bom)
    head = _merge_heads(prior, incoming)
    closing = prior.closing if prior.closing.endswith(b"\n") else incoming.closing
    return prior._replace(head=head, closing=closing, body=incoming.body)


def described(document: Parts, description: str) -> Parts:
    """Return `document`, which has front matter, with this description."""
    head = scan(document.head)
    field = head.fields.get("description")
    raw = edit.scalar_for(head, description)
    if field is None:
        return document._replace(head=edit.add(head, "description", raw, document.newline))
    if field.value and fold(field.value) == description:
        return document
    return document._replace(head=edit.replace(head, field, raw))


def wrapped(document: Parts) -> Parts:
    """Return `document`, which has no front matter, with an empty head and a blank line."""
    newline = b"\r\n" if re.match(rb"[^\n]*\r\n", document.body) else b"\n"
    body = document.body[_gap(document.body) :]
    line = b"---" + newline
    return Parts(document.bom, line, "", line, newline + body if body else b"")


def _with_body(prior: Parts, body: bytes) -> Parts:
    """Keep the blank lines that stand before the old body, whatever the new one has."""
    text = body[_gap(body) :]
    if not text:
        return prior._replace(body=prior.body[: _gap(prior.body)])
    gap = prior.body[: _gap(prior.body)]
    if not prior.opening:
        return prior._replace(body=gap + text)
    newline = prior.newline.encode()
    closing = prior.closing if prior.closing.endswith(b"\n") else b"---" + newline
    return prior._replace(closing=closing, body=(gap if prior.body else newline) + text)


def _gap(body: bytes) -> int:
    match = _BLANK_LINES.match(body)
    return match.end() if match else 0


def _merge_heads(prior: Parts, incoming: Parts) -> str:
    old, new = scan(prior.head), _with_version_of(scan(prior.head), scan(incoming.head))
    if old.flow or new.flow or edit.column(old) != edit.column(new):
        text = _merge_unlike(old, new, prior.newline)
    else:
        text = _merge_lines(old, new, prior.newline)
    return _with_kept_metadata(old, scan(text), prior.newline)


def _with_version_of(old: Head, new: Head) -> Head:
    """Write the old version over the new one, so that equal saves stay equal."""
    for key in ("version", "metadata"):
        theirs = new.fields.get("version") if key == "version" else new.metadata.get("version")
        ours = old.fields.get("version") if key == "version" else old.metadata.get("version")
        ours = ours or next(iter(old.versions()), None)
        if theirs and ours and old.raw(ours) != new.raw(theirs):
            new = scan(edit.replace(new, theirs, old.raw(ours)))
    return new


def _merge_lines(old: Head, new: Head, newline: str) -> str:
    text, added = old.text, []
    places = sorted(new.fields, key=lambda key: -old.fields[key].start if key in old.fields else 0)
    for key in places:
        theirs = new.fields[key]
        lines = new.text[edit.line_start(new.text, theirs.key_start) : theirs.stop]
        if newline not in lines or "\r" in lines:
            lines = lines.replace("\r\n", "\n").replace("\n", newline)
        if key in old.fields:
            ours = old.fields[key]
            start = edit.line_start(old.text, ours.key_start)
            if old.text[start : ours.stop].replace("\r\n", "\n") != lines.replace("\r\n", "\n"):
                text = text[:start] + lines + text[_end_of_old(old, ours, lines) :]
        elif key != "version":
            added.append((theirs.key_start, lines))
    return text + "".join(lines for _, lines in sorted(added))


def _end_of_old(old: Head, ours: Field, lines: str) -> int:
    """Return where an old field ends that gives way to `lines`.

    Comments indented below it go with it if `lines` may be a block scalar, which
    would swallow them; a block scalar that keeps its last newlines swallows blank
    lines as well.
    """
    if lines.count("\n") < 2:
        return ours.stop
    below = _LINES_BELOW.match(old.text, ours.stop)
    end = below.end() if below else ours.stop
    blank = _BLANK_TEXT.match(old.text, end) if "+" in lines.split("\n", 1)[0] else None
    return blank.end() if blank else end


def _merge_unlike(old: Head, new: Head, newline: str) -> str:
    """Take the new head, written in another style, and add the old fields it lacks."""
    import json

    from . import strict_yaml

    values = strict_yaml.value_of(strict_yaml.compose(old.text))
    for key in old.fields:
        if key not in new.fields:
            raw = json.dumps(values[key], ensure_ascii=False)
            new = scan(edit.add(new, key, raw, newline))
    return new.text


def _with_kept_metadata(old: Head, new: Head, newline: str) -> str:
    """Put back the version and the title that the old metadata held."""
    if new.fields.get("metadata") and new.fields["metadata"].kind in (BLOCK_MAP, FLOW_MAP):
        for key in ("title", "version"):
            ours = old.metadata.get(key)
            if ours and key not in new.metadata:
                new = scan(edit.add_metadata(new, key, old.raw(ours), newline))
    return new.text


def read(content: bytes | None) -> Parts | None:
    """Return the parts of `content` if its head can be read, else None."""
    if content is None:
        return None
    try:
        cut = parts.split(content)
        if cut.opening:
            scan(cut.head)
    except InvalidInput:
        return None
    return cut
