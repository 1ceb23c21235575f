"""Work of asynchronous callers on worker threads. It ends even if its caller is cancelled.

A worker thread cannot be stopped, and a write must not be. A cancelled call therefore leaves its work:
the work ends by itself, and later work of the same conversation waits for it. Nothing overtakes it.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Future, wait
from contextlib import asynccontextmanager
from contextvars import copy_context
from functools import partial
from typing import Any, ParamSpec, TypeVar

from acc.logs import cause, log_event

_LOG = logging.getLogger(__name__)

PATIENCE = 2.0
"""Maximum seconds that a cancelled call waits for the work that it leaves."""

P = ParamSpec("P")
T = TypeVar("T")


_HERE = threading.local()


class _Work:
    """A call, the work that it waits for, and whether it ended."""

    def __init__(self, act: Callable[[], Any], after: Sequence[Future[None]]) -> None:
        self._act = act
        self._after = after
        self.error: BaseException | None = None
        self.ended: Future[None] = Future()

    def __call__(self) -> Any:
        try:
            wait(self._after)
            _HERE.is_work = True
            return self._act()
        except BaseException as error:
            self.error = error
            raise
        finally:
            _HERE.is_work = False
            self.ended.set_result(None)


class OffLoop:
    """Runs the work of conversations on worker threads. Safe for use by any number of loops and threads."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._left: dict[str, list[Future[None]]] = {}

    async def run(self, key: str, act: Callable[P, T], /, *args: P.args, **named: P.kwargs) -> T:
        """Return the result of ``act``, which runs after the work that cancelled calls have left.

        Args:
            key: `Thread.key` of the conversation.
            act: What to run.
        """
        work = _Work(partial(copy_context().run, partial(act, *args, **named)), self.left(key))
        running = asyncio.get_running_loop().run_in_executor(None, work)
        try:
            result: T = await asyncio.shield(running)
        except (asyncio.CancelledError, GeneratorExit):
            self._leave(key, work)
            raise
        return result

    async def complete(
        self, key: str, act: Callable[P, T], /, *args: P.args, **named: P.kwargs
    ) -> T:
        """Like `run`; a cancelled call ends when its work has ended, at most `PATIENCE` seconds later."""
        async with self.resting(key):
            return await self.run(key, act, *args, **named)

    @asynccontextmanager
    async def resting(self, key: str) -> AsyncIterator[None]:
        """If the block is cancelled, wait for the work that it left, at most `PATIENCE` seconds."""
        try:
            yield
        except asyncio.CancelledError:
            if left := self.left(key):
                await asyncio.wait([asyncio.wrap_future(each) for each in left], timeout=PATIENCE)
            raise

    def left(self, key: str = "") -> list[Future[None]]:
        """Return the work that cancelled calls have left, of one conversation or of all."""
        with self._guard:
            return [
                work for name, works in self._left.items() if key in ("", name) for work in works
            ]

    def settle(self, key: str = "") -> None:
        """Wait until the work that cancelled calls have left has ended. Such work itself has waited."""
        if not getattr(_HERE, "is_work", False):
            wait(self.left(key))

    def _leave(self, key: str, work: _Work) -> None:
        with self._guard:
            self._left.setdefault(key, []).append(work.ended)
        work.ended.add_done_callback(lambda _: self._ended(key, work))

    def _ended(self, key: str, work: _Work) -> None:
        with self._guard:
            self._left[key].remove(work.ended)
            if not self._left[key]:
                del self._left[key]
        if work.error is not None:
            log_event(
                _LOG, logging.WARNING, "cancelled_work_failed",
                "the work that a cancelled call had begun failed", key=key, cause=cause(work.error),
            )  # fmt: skip
