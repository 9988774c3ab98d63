"""Types of parameters; each refuses every value that is not exactly of its form."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from brain.errors import BrainError, InvalidInput
from brain.util.text import lazy_pattern, parse_money

from .context import App
from .error_report import Failure

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from brain import Brain

    ParamOfText = click.ParamType[str]
    ParamOfInt = click.ParamType[int]
    ParamOfFloat = click.ParamType[float]
else:
    ParamOfText = ParamOfInt = ParamOfFloat = click.ParamType  # generic for the type checker only

T = TypeVar("T")

MAX_COUNT = 1_000_000_000
MAX_SECONDS = 86_400
_SECONDS_PATTERN = lazy_pattern(r"[0-9]{1,6}(\.[0-9]{1,6})?", re.ASCII)


class OnceOption(click.Option):
    """An option with a value, which may be given only once."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs["multiple"] = True
        super().__init__(*args, **kwargs)

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        """Return the value, or None."""
        values = super().process_value(ctx, value)
        if len(values) > 1:
            raise click.BadParameter(
                "it is given more than once, and takes one value", ctx=ctx, param=self
            )
        return values[0] if values else None


class TextType(ParamOfText):
    """Text; bytes that are not UTF-8 are refused with an error of code `code`."""

    name = "text"

    def __init__(self, code: str = "bad_input") -> None:
        self.code = code

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text as it is."""
        text = str(value)
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                what = param.human_readable_name if param is not None else "value"
                raise InvalidInput(
                    f"the value of {what} is not valid UTF-8",
                    code=self.code,
                    hint="type it in UTF-8, or set the terminal to UTF-8",
                ) from None
        return text


class PathType(TextType):
    """A path; a shell completes the files of the folder."""

    name = "path"

    def __init__(self) -> None:
        super().__init__("bad_path")

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Let the shell complete a file."""
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type="file")]


class NonEmptyType(TextType):
    """Text that is not empty, so that an unset shell variable is not taken for the default."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text."""
        text = super().convert(value, param, ctx)
        if not text:
            self.fail("the value is empty", param, ctx)
        return text


class CountType(ParamOfInt):
    """A whole number from `least`, in decimal digits."""

    name = "number"

    def __init__(self, least: int = 0) -> None:
        self.least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number."""
        text = str(value)
        is_number = text.isascii() and text.isdigit() and len(text) <= 10
        if not is_number or not self.least <= int(text) <= MAX_COUNT:
            what = f"a whole number from {self.least} to {MAX_COUNT}"
            self.fail(f"{text[:40]!r} is not {what}", param, ctx)
        return int(text)


class CostType(ParamOfInt):
    """An amount of money above 0, with up to six decimals; its value is in millionths."""

    name = "cost"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the amount in millionths."""
        text = str(value)
        amount = parse_money(text)
        if amount <= 0:
            self.fail(f"{text[:40]!r} is not a cost above 0, such as 2.50", param, ctx)
        return amount


class SecondsType(ParamOfFloat):
    """A time in seconds, with or without a fraction, up to a day."""

    name = "seconds"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the seconds."""
        text = str(value)
        if not _SECONDS_PATTERN().fullmatch(text) or float(text) > MAX_SECONDS:
            self.fail(f"{text[:40]!r} is not a time from 0 to {MAX_SECONDS} seconds", param, ctx)
        return float(text)


class SlugType(TextType):
    """A skill: its address, path or name; a shell completes the addresses."""

    name = "slug"

    def __init__(self) -> None:
        super().__init__("bad_name")

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the addresses of skills that begin with `incomplete`."""
        return _complete_slugs(ctx, incomplete)


class BranchType(TextType):
    """The name of a branch; a shell completes the branches of the brain."""

    name = "branch"

    def __init__(self) -> None:
        super().__init__("bad_branch")

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the branches that begin with `incomplete`."""
        return _complete_branches(ctx, incomplete)


class TagType(TextType):
    """The name of a tag; a shell completes the tags of the brain."""

    name = "tag"

    def __init__(self) -> None:
        super().__init__("bad_tag")

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the tags that begin with `incomplete`."""
        from click.shell_completion import CompletionItem

        return [
            CompletionItem(tag.name, help=tag.snapshot[:12])
            for tag in _query_brain(ctx, lambda brain: brain.tags.list())
            if tag.name.startswith(incomplete)
        ]


def _complete_slugs(ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
    """Return the addresses of skills that begin with `incomplete`."""
    from click.shell_completion import CompletionItem

    return [
        CompletionItem(skill.address, help=skill.description or None)
        for skill in _query_brain(ctx, lambda brain: brain.skills.list())
        if skill.address.startswith(incomplete)
    ]


def _complete_branches(ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
    """Return the branches that begin with `incomplete`."""
    from click.shell_completion import CompletionItem

    return [
        CompletionItem(branch.name, help=branch.snapshot[:12])
        for branch in _query_brain(ctx, lambda brain: brain.branches.list().branches)
        if branch.name.startswith(incomplete)
    ]


def _query_brain(ctx: click.Context, query: Callable[[Brain], list[T]]) -> list[T]:
    app = App(directory=ctx.find_root().params.get("directory"), as_json=True)
    try:
        return query(app.brain)
    except (BrainError, Failure, OSError):
        return []  # a shell shows no error message
    finally:
        app.close()
