"""Ctrl-C and SIGTERM, held back until a turn is done.

Raised in the middle of a turn, an interrupt could be caught by what is under way (pydantic
makes a serialization error of one, and a compressor's errors are survived), and the turn
committed as something that it is not.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any, Self


class Interrupts:
    """Notes the first signal; `check` acts on it. A second one is acted on at once."""

    def __init__(self) -> None:
        self._noted = 0
        self._before: dict[int, Any] = {}

    def check(self) -> None:
        """Act on what was noted, if anything.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed.
            SystemExit: The process is to end.
        """
        if self._noted == signal.SIGINT:
            raise KeyboardInterrupt
        if self._noted:
            raise SystemExit(128 + self._noted)

    def _note(self, number: int, _: FrameType | None) -> None:
        again = bool(self._noted)
        self._noted = number
        if again:
            self.check()

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # others cannot handle signals
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
