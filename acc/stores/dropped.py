"""Releasing what its last user dropped without closing it."""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress

_LOG = logging.getLogger(__name__)

_SECONDS = 10.0
"""How long the one who drops it waits for the release."""


def when_dropped(owner: object, release: Callable[[], None], what: str) -> Callable[[], object]:
    """Call ``release`` when nobody holds ``owner`` any more.

    The end of the process is left alone: the operating system releases the locks then, and threads
    may still be at work. A forked child releases nothing, since its parent holds it.

    Args:
        owner: The object. ``release`` must not refer to it.
        release: Called once, in a thread of its own; an error that it raises is logged.
        what: What could not be done in that case, for the log.

    Returns:
        Takes the release back, as where ``owner`` was closed.
    """
    finalizer = weakref.finalize(owner, _release, release, what, os.getpid())
    finalizer.atexit = False
    return finalizer.detach


def _release(release: Callable[[], None], what: str, pid: int) -> None:
    if os.getpid() != pid:
        return
    # The garbage collector may run inside a call that holds a lock which the release needs. The wait
    # in another thread is limited, so that the call can go on and give the lock back.
    thread = threading.Thread(
        target=_attempt, args=(release, what), name="acc-release", daemon=True
    )
    with suppress(RuntimeError):  # the interpreter ends and starts no threads any more
        thread.start()
        thread.join(_SECONDS)


def _attempt(release: Callable[[], None], what: str) -> None:
    try:
        release()
    except Exception:
        _LOG.exception("%s", what)
