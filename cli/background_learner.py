"""Learn in the background of `brain mcp serve` and `brain watch`, if a model is configured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

from brain import evolve
from brain.errors import BrainError

from .settings.user_models import find_user_model
from .terminal import escape

if TYPE_CHECKING:
    from brain import Brain
    from brain.models import Model

    from .context import App

_END_SECONDS = 5.0
"""How long the end of the command waits for the model; its answer is then asked for again."""
_NO_MODEL_NOTE = (
    "Note: hard runs wait for a model to learn from them; choose one with `brain config model`,"
    " or set the evolution mode off in manifest.yaml"
)


@contextmanager
def learn_in_background(app: App, transcripts: Sequence[Path] = ()) -> Iterator[None]:
    """Work off the queue of hard runs in a thread, and import transcripts that end.

    Nothing here fails the command: what goes wrong is printed as a note.
    """
    try:
        model = find_user_model()
    except BrainError as error:
        app.print_note(escape(f"Note: nothing is learned: {error.message}"))
        model = None
    work = partial(_learn, model, transcripts) if model or transcripts else _note_waiting
    stop = Event()
    learner = Thread(target=_try, args=(app, work, stop), name="learner", daemon=True)
    learner.start()
    try:
        yield
    finally:
        stop.set()
        learner.join(_END_SECONDS)


def _try(app: App, work: Callable[[App, Brain, Event], None], stop: Event) -> None:
    """Do work with a brain of this thread; an error is printed as a note."""
    try:
        with app.open_brain(app.author) as brain:
            work(app, brain, stop)
    except BrainError as error:
        app.print_note(escape(f"Note: nothing more is learned: {error.message}"))


def _learn(
    model: Model | None, transcripts: Sequence[Path], app: App, brain: Brain, stop: Event
) -> None:
    poll = _transcript_poll(app, brain, transcripts)
    poll()

    def wait(seconds: float) -> None:
        stop.wait(seconds)
        poll()

    for step in evolve.run(brain, model, stop, wait=wait):
        if step.result in ("done", "failed"):
            about = f" {step.slug}" if step.slug else ""
            app.print_note(escape(f"{step.evolver}{about}: {step.reason}"))


def _note_waiting(app: App, brain: Brain, _stop: Event) -> None:
    """Say once for a brain that runs wait, if they do and no model is configured."""
    if evolve.take_no_model_notice(brain):
        app.print_note(_NO_MODEL_NOTE)


def _transcript_poll(app: App, brain: Brain, transcripts: Sequence[Path]) -> Callable[[], None]:
    """Return what looks for transcripts that ended."""
    if not transcripts:
        return lambda: None
    folders = evolve.TranscriptFolders(brain, transcripts)

    def poll() -> None:
        try:
            for found in folders.poll():
                for run in found.queued:
                    app.print_note(escape(f"Queued the hard run {run} of {found.file}"))
        except BrainError as error:
            app.print_note(escape(f"Note: transcripts are not read: {error.message}"))

    return poll
