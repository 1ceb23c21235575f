"""What of a conversation's messages is to be committed now, and what the model still reads.

At the beginning of the user's turn, all that no commit has seen. Within it, once the steps
that the model has read outgrow a bound, those steps: the latest stays verbatim, calls stay
with their results, and the user's current message stays until the next one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from acc.errors import ConfigurationError, InputError, StateError
from acc.integrations.messages import (
    as_messages,
    healed,
    is_summary,
    is_users,
    observed,
    role_and_rest,
    steps,
)
from acc.tokens import TokenCounter, utf8_quarter
from acc.turn import Channel, Observation, Turn

Mark = dict[str, Any]
"""How far the commits have come, as plain JSON beside the state in its checkpoint: ``id`` and
``content`` of the user's current message, and ``through``, the id of the last message committed."""


_CUT = " [...]"


class Fold(NamedTuple):
    """What one look at the messages found.

    Attributes:
        turn: What is to be committed before the model is called; None where nothing is.
        role: System messages that stand before the conversation; never evidence.
        kept: The current turn as the model reads it: the agent's last reply where that is
            wanted, the user's message, then what is not folded, as providers accept it.
        mark: The mark once ``turn`` is committed.
        said: The observations that the user's message makes in ``turn``; empty where an earlier
            one took it in.
        behind: How many observations of ``turn`` come after them.
    """

    turn: Turn | None
    role: list[BaseMessage]
    kept: list[BaseMessage]
    mark: Mark
    said: tuple[Observation, ...] = ()
    behind: int = 0


@dataclass(frozen=True)
class Folding:
    """How messages become turns.

    Attributes:
        channels: Channel by tool name, where a tool is no more than a document; also by the
            name of a human message that another agent wrote.
        over: Tokens that the steps which the model has read may hold before they are folded
            into a commit; 0 folds each step, None waits for the user's next turn.
        counter: Counts them.
        reply_chars: Characters of the agent's own last reply that open the turn, so that "yes,
            send it" has something to refer to; 0 for a model that must be addressed first.
    """

    channels: Mapping[str, Channel] = field(default_factory=dict)
    over: int | None = 2_000
    counter: TokenCounter = utf8_quarter
    reply_chars: int = 0

    def __post_init__(self) -> None:
        if self.over is not None and self.over < 0:
            raise ConfigurationError(
                f"steps are folded over {self.over} tokens",
                where="Folding.over",
                mend="0 folds each step, None waits for the user's next turn",
            )

    def look(self, messages: Sequence[Any], mark: Mark | None, *, begun: bool) -> Fold:
        """See what is to be committed before the model reads ``messages``.

        Args:
            messages: The conversation's, whole or pruned by an earlier look.
            mark: What the last look returned; None at first.
            begun: Whether the thread has a state. With one and no mark, the turn is the one
                that `Turn.from_messages` would take.

        Raises:
            InputError: No user message, or one that cannot be read.
            StateError: The mark is none.
        """
        _check(mark)
        role, rest = role_and_rest(as_messages(messages))
        seen = self._seen(rest, mark, begun)
        current = self._current(rest, mark, seen)
        user = rest[current] if current is not None else _restored(mark, rest)
        after = max(seen, 0 if current is None else current + 1)
        said = rest[seen : current + 1] if current is not None and current >= seen else []
        unfolded = [m for m in rest[after:] if not is_summary(m)]
        folded = self._read(unfolded)
        taken = [*said, *folded]
        before, own = self.observed(said[:-1]), self.observed(said[-1:])
        heard, behind = (*before, *own), self.observed(folded)
        turn = Turn(observations=(*heard, *behind)) if taken else None
        through = taken[-1].id if taken else (mark or {}).get("through", user.id)
        earlier = rest[:current] if current is not None else []
        kept = [*self._reply(earlier), *healed([user, *unfolded[len(folded) :]])]
        mark = {"id": user.id, "content": user.content, "through": through}
        return Fold(turn, role, kept, mark, own, len(behind))

    def decided(self, messages: Sequence[Any], mark: Mark | None) -> tuple[Observation, ...]:
        """What the agent said and did since the last commit, to be recorded before the next.

        Only what the next commit is sure to take in: the steps that the model has read, and
        its answer once it calls nothing. The latest results are in the checkpoint until then.
        """
        _check(mark)
        _, rest = role_and_rest(as_messages(messages))
        seen = self._seen(rest, mark, begun=True)
        current = self._current(rest, mark, seen)
        if mark is None or (current is not None and current >= seen):
            return ()  # a user's message that no commit has seen yet
        unfolded = [m for m in rest[seen:] if not is_summary(m)]
        found = steps(unfolded)
        over = bool(found) and is_answer(found[-1])
        sure = found if over else found[:-1]
        return self.observed([m for step in sure for m in step])

    def observed(self, messages: Sequence[BaseMessage]) -> tuple[Observation, ...]:
        """The observations that ``messages`` make."""
        return observed(messages, self.channels)

    def _read(self, unfolded: Sequence[BaseMessage]) -> list[BaseMessage]:
        """What of a turn is to be folded: the steps before the latest, if they are too much."""
        read = [m for step in steps(unfolded)[:-1] for m in step]
        if self.over is None or not read:
            return []
        held = sum(self.counter(o.text) for o in self.observed(read))
        return read if held > self.over else []

    def _reply(self, before: Sequence[BaseMessage]) -> list[BaseMessage]:
        """The agent's answer in front of the user's message, cut to its bound."""
        said = before[-1] if before else None
        if not (self.reply_chars and isinstance(said, AIMessage) and is_answer(before[-1:])):
            return []
        text = str(said.text)
        if len(text) > self.reply_chars:
            text = text[: self.reply_chars - len(_CUT)] + _CUT
        return [AIMessage(text, id=said.id)] if text else []

    def _current(self, rest: Sequence[BaseMessage], mark: Mark | None, seen: int) -> int | None:
        """Where the user's current message stands: the last new one, or the one marked."""
        users = [i for i, m in enumerate(rest) if is_users(m, self.channels)]
        if mark is None or (users and users[-1] >= seen):
            return users[-1] if users else None
        return next((i for i, m in enumerate(rest) if m.id == mark["id"]), None)

    def _seen(self, rest: Sequence[BaseMessage], mark: Mark | None, begun: bool) -> int:
        """How many of ``rest`` a commit has seen."""
        places = {m.id: i for i, m in enumerate(rest)}
        for name in ("through", "id"):
            if mark and mark.get(name) in places:
                return places[mark[name]] + 1
        users = [i for i, m in enumerate(rest) if is_users(m, self.channels)]
        if not (begun and users):
            return 0
        unanswered = users[-1] == len(rest) - 1
        return (users[-2] + 1 if len(users) > 1 else 0) if unanswered else users[-1]


def _restored(mark: Mark | None, rest: Sequence[BaseMessage]) -> BaseMessage:
    """The user's current message, where somebody took it out of the messages.

    Raises:
        InputError: There never was one.
    """
    if mark is None:
        raise InputError(
            "no user message among the messages",
            where=f"{len(rest)} messages",
            mend="pass the messages up to and including the user's current one",
        )
    return HumanMessage(mark["content"], id=mark["id"])


def _check(mark: Any) -> None:
    named = isinstance(mark, Mapping) and {"id", "through"} <= mark.keys()
    whole = named and ("content" in mark or isinstance(mark.get("refs"), list))
    if mark is not None and not whole:
        raise StateError(
            "not a mark of how far the commits have come",
            where=f"keys {sorted(mark)}" if isinstance(mark, Mapping) else type(mark).__name__,
            mend="leave the channel as the memory wrote it",
        )


def is_answer(step: Sequence[BaseMessage]) -> bool:
    """Whether the last message is the agent's and calls nothing."""
    last = step[-1]
    return isinstance(last, AIMessage) and not (last.tool_calls or last.invalid_tool_calls)
