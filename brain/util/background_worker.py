"""A thread that does small work in order, so that its caller waits for no disk and no server."""

from __future__ import annotations

import atexit
import queue
import threading
from collections.abc import Callable

Action = Callable[[], object]


class BackgroundWorker:
    """Calls actions, which raise nothing, in a thread that ends with `close`.

    At the end of the program it finishes what it was given.
    """

    def __init__(self, name: str) -> None:
        self._actions: queue.Queue[Action | None] = queue.Queue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()
        atexit.register(self.wait)

    def put(self, action: Action) -> None:
        """Call an action later."""
        self._actions.put(action)

    def wait(self) -> None:
        """Wait until all actions have been called."""
        if self._thread.is_alive():
            self._actions.join()

    def close(self) -> None:
        """Finish, and end the thread."""
        self.wait()
        atexit.unregister(self.wait)
        self._actions.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (action := self._actions.get()) is not None:
            try:
                action()
            finally:
                self._actions.task_done()
