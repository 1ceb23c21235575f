"""Release a resource when its last user drops it without closing it."""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress

from acc.logs import cause, log_event

_LOG = logging.getLogger(__name__)

_SECONDS = 10.0
"""Limit, in seconds, that the thread dropping the object waits for the release."""


def when_dropped(owner: object, release: Callable[[], None], what: str) -> Callable[[], object]:
    """Call ``release`` once nothing references ``owner`` any more.

    Nothing happens at interpreter exit: the operating system releases the locks then, and threads
    may still run. A forked child releases nothing, because its parent holds the resource.

    Args:
        owner: The object. ``release`` must not refer to it.
        release: Called once, in its own thread; its errors are logged.
        what: Log message for a failed release.

    Returns:
        A function that cancels the release, for when ``owner`` is closed explicitly.
    """
    finalizer = weakref.finalize(owner, _release, release, what, os.getpid())
    finalizer.atexit = False
    return finalizer.detach


def _release(release: Callable[[], None], what: str, pid: int) -> None:
    if os.getpid() != pid:
        return
    # The garbage collector may run inside a call that holds a lock that the release needs. A
    # limited wait for another thread lets that call continue and release the lock.
    thread = threading.Thread(
        target=_attempt, args=(release, what), name="acc-release", daemon=True
    )
    with suppress(RuntimeError):  # the interpreter is shutting down and starts no threads
        thread.start()
        thread.join(_SECONDS)


def _attempt(release: Callable[[], None], what: str) -> None:
    try:
        release()
    except Exception as error:
        log_event(_LOG, logging.ERROR, "release_failed", what, cause=cause(error))
        _LOG.debug("%s", what, exc_info=True)
