"""Answers and faults that a test writes down: a list in the order of the requests, or a rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any, TypeAlias

from acc.testing.model_faults import Fault
from acc.testing.model_replies import Reply
from acc.testing.model_requests import Request

Answer: TypeAlias = Reply | Fault | str | Mapping[str, Any]
"""What a request gets: a reply, its content alone, or a fault of an empty object."""

Answers: TypeAlias = Sequence[Answer] | Callable[[Request], Answer]
Faults: TypeAlias = Sequence[Fault | None] | Callable[[Request], Fault | None]


class Script:
    """Takes answers and faults in turn; safe for many threads. Rules run in the caller's."""

    def __init__(self, answers: Answers, faults: Faults, *, repeats: bool) -> None:
        if repeats and not callable(answers) and not answers:
            raise ValueError("an empty script has no last answer to repeat")
        self._answers = answers if callable(answers) else tuple(answers)
        self._faults = faults if callable(faults) else tuple(faults)
        self._repeats = repeats
        self._answered = 0
        self._seen = 0
        self._lock = Lock()

    @property
    def unused(self) -> int:
        """Answers of a list that no request has reached; 0 for a rule."""
        return 0 if callable(self._answers) else max(0, len(self._answers) - self._answered)

    def fault(self, request: Request) -> Fault | None:
        """The fault of this request, one entry a request; none after the last."""
        if callable(self._faults):
            return self._faults(request)
        with self._lock:
            place, self._seen = self._seen, self._seen + 1
        return self._faults[place] if place < len(self._faults) else None

    def reply(self, request: Request) -> Reply:
        """The answer to this request, one entry a request that reaches the model.

        Raises:
            AssertionError: The list is at its end.
            TypeError: The entry is no answer.
        """
        if callable(self._answers):
            return _as_reply(self._answers(request))
        with self._lock:
            place, self._answered = self._answered, self._answered + 1
        if place >= len(self._answers) and not self._repeats:
            raise AssertionError(
                f"the script has {len(self._answers)} answers, and this is call {place + 1} "
                f"of the model, in request {request.number}"
            )
        return _as_reply(self._answers[min(place, len(self._answers) - 1)])


def _as_reply(answer: Answer) -> Reply:
    if isinstance(answer, Reply):
        return answer
    if isinstance(answer, Fault):
        return Reply(fault=answer)
    if isinstance(answer, str | Mapping):
        return Reply(answer)
    raise TypeError(f"a {type(answer).__name__} is no answer; wrap JSON values in Reply(...)")
