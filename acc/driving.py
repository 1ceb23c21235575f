"""What a computation does outside of itself, and the two drivers that do it.

A step is a generator that yields an `Io` where it reads or writes, and a `Waits` where it asks a model or waits for
others. So it is written once, for threads and for event loops.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from functools import partial, wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Io(NamedTuple):
    """Something that reads or writes, and may block."""

    run: Callable[[], Any]


class Waits(Protocol):
    """Something that waits, such as a `acc.compress.compressor.Call` for its model; an event loop goes on meanwhile."""

    def complete(self) -> Any:
        """Wait for it."""

    async def acomplete(self) -> Any:
        """Wait for it without blocking the event loop."""


Effect = Io | Waits
Doing = Generator[Effect, Any, T]
"""A computation with effects on its way to a ``T``."""


def perform(doing: Doing[T]) -> T:
    """Carry out the effects of ``doing`` one after the other."""
    act: Callable[[], Effect] = partial(doing.send, None)
    try:
        while True:
            effect = act()
            try:
                done = effect.run() if isinstance(effect, Io) else effect.complete()
            except Exception as error:
                act = partial(doing.throw, error)
            else:
                act = partial(doing.send, done)
    except StopIteration as stop:
        found: T = stop.value
        return found
    finally:
        doing.close()  # an interrupt or a cancelled task leaves it in the middle


async def aperform(
    doing: Doing[T], in_thread: Callable[[Callable[[], Any]], Awaitable[Any]] = asyncio.to_thread
) -> T:
    """Carry out the effects of ``doing`` without blocking the event loop; ``in_thread`` runs what may block."""
    act: Callable[[], Effect] = partial(doing.send, None)
    try:
        while True:
            effect = act()
            try:
                if isinstance(effect, Io):
                    done = await in_thread(effect.run)
                else:
                    done = await effect.acomplete()
            except Exception as error:
                act = partial(doing.throw, error)
            else:
                act = partial(doing.send, done)
    except StopIteration as stop:
        found: T = stop.value
        return found
    finally:
        doing.close()  # an interrupt or a cancelled task leaves it in the middle


Computing = Callable[Concatenate[Any, P], Doing[T]]
"""A function of a memory, and of more, that returns a computation."""


def performed(function: Computing[P, T]) -> Callable[Concatenate[Any, P], T]:
    """Return a method of a memory for threads: it carries out the computation that ``function`` returns."""

    @wraps(function)
    def run(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return perform(function(self, *args, **kwargs))

    return run


def awaited(function: Computing[P, T]) -> Callable[Concatenate[Any, P], Awaitable[T]]:
    """Return a method of an event loop's memory: it carries out the computation that ``function`` returns."""

    @wraps(function)
    async def run(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        found: T = await self.carried_out(function(self, *args, **kwargs))
        return found

    return run


def beside(
    method: Callable[Concatenate[Any, P], T],
) -> Callable[Concatenate[Any, P], Awaitable[T]]:
    """Return a method of an event loop's memory: it runs ``method``, which may block, beside the loop."""

    @wraps(method)
    async def run(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        found: T = await self.beside(lambda: method(self, *args, **kwargs))
        return found

    return run
