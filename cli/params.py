"""Types of parameters; each refuses every value that is not exactly of its form."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

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
    """Text; bytes that are not UTF-8 are refused with an error of code `code`.

    A shell completes what `candidates` finds in the brain, with a word about each.
    """

    name = "text"
    code = "bad_input"

    def __init__(self, code: str = "") -> None:
        self.code = code or self.code

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

    def candidates(self, brain: Brain) -> Iterable[tuple[str, str]]:
        """Return the values there are, each with what a shell says about it."""
        return ()

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return what begins with `incomplete`; nothing without a brain, and no message."""
        from click.shell_completion import CompletionItem

        app = App(directory=ctx.find_root().params.get("directory"), as_json=True)
        try:
            found = list(self.candidates(app.brain))
        except (BrainError, Failure, OSError):
            return []
        finally:
            app.close()
        return [
            CompletionItem(value, help=about or None)
            for value, about in found
            if value.startswith(incomplete)
        ]


class PathType(TextType):
    """A path; a shell completes the files of the folder."""

    name, code = "path", "bad_path"

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
        return super().convert(value, param, ctx) or self.fail("the value is empty", param, ctx)


class SlugType(TextType):
    """A skill: its address, path or name."""

    name, code = "slug", "bad_name"

    def candidates(self, brain: Brain) -> Iterable[tuple[str, str]]:
        """Return the addresses of the skills."""
        return ((skill.address, skill.description) for skill in brain.skills.list())


class BranchType(TextType):
    """The name of a branch."""

    name, code = "branch", "bad_branch"

    def candidates(self, brain: Brain) -> Iterable[tuple[str, str]]:
        """Return the branches."""
        return ((one.name, one.snapshot[:12]) for one in brain.branches.list().branches)


class TagType(TextType):
    """The name of a tag."""

    name, code = "tag", "bad_tag"

    def candidates(self, brain: Brain) -> Iterable[tuple[str, str]]:
        """Return the tags."""
        return ((tag.name, tag.snapshot[:12]) for tag in brain.tags.list())


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
        amount = parse_money(str(value))
        if amount <= 0:
            self.fail(f"{str(value)[:40]!r} is not a cost above 0, such as 2.50", param, ctx)
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
