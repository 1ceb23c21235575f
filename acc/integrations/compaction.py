"""Split a conversation's messages into turns, and select what the model still reads verbatim.

Each user message starts a turn, which also holds the surrounding messages that no commit has
seen. In a long loop of tool calls, the steps that the model has read become a separate turn once
they exceed a limit. The latest step stays verbatim, a call stays with its result, and user
messages stay until the agent has answered them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from acc.errors import ConfigurationError, InputError, StateError
from acc.integrations.messages import (
    Voices,
    as_messages,
    healed,
    is_answer,
    is_summary,
    is_users,
    observed,
    role_and_rest,
    steps,
)
from acc.logs import log_event
from acc.text.tokens import TokenCounter, utf8_quarter
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn

Progress = dict[str, Any]
"""Commit progress as plain JSON, stored with the state in its checkpoint: ``id`` and ``content``
of the user's current message, and ``through``, the id of the last committed message.
"""

AGENT = "agent"
"""Progress key: the agent that owns the memory of a nested run."""

UNANSWERED_TOKENS = 16_000
"""Limit, in tokens, of earlier unanswered messages that the model reads with the current one."""

_CUT = " [...] "
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Past:
    """What the thread's log knows of a conversation, in addition to the `Progress`.

    Attributes:
        begun: Whether the thread has a state.
        committed: Ids of committed messages.
        recorded: Ids of messages recorded for the next turn; they belong to one turn.
        spoken: Returns the identities of the committed words of user and agent, in order. Called
            only for a transcript without progress and without known ids.
        refused: Returns whether a commit has refused this user turn (`PinnedOverflow`).
    """

    begun: bool = False
    committed: Container[str] = frozenset()
    recorded: Container[str] = frozenset()
    spoken: Callable[[], Sequence[str]] = tuple
    refused: Callable[[Turn], bool] = lambda _: False


NO_PAST = Past()


class Plan(NamedTuple):
    """The result of inspecting the messages once.

    Attributes:
        turns: Turns to commit before the model call, in order.
        role: The leading system message; never evidence.
        kept: The current turn as the model reads it: the agent's last reply (if configured),
            unanswered messages, then uncommitted steps, in a form that providers accept.
        unread: Messages of ``kept`` that no commit has seen after ``turns`` are committed.
        progress: The progress after ``turns`` are committed.
        said: Observations of the user's current message in the last of ``turns``; empty if an
            earlier commit contains the message.
        behind: Number of observations after ``said`` in the last turn.
    """

    turns: tuple[Turn, ...]
    role: list[BaseMessage]
    kept: list[BaseMessage]
    unread: list[BaseMessage]
    progress: Progress
    said: tuple[Observation, ...] = ()
    behind: int = 0


@dataclass(frozen=True)
class Compaction:
    """Settings for splitting messages into turns.

    Attributes:
        voices: Assigns speakers to channels.
        over: Limit, in tokens, of steps that the model has read before they become a turn; 0
            commits each step, None waits for the user's next message.
        counter: Counts tokens.
        reply_chars: Characters of the agent's last reply placed before the turn. They resolve
            references such as "yes, send it". Use 0 for a model that needs a user message first.
    """

    voices: Voices = field(default_factory=Voices)
    over: int | None = 2_000
    counter: TokenCounter = utf8_quarter
    reply_chars: int = 0

    def __post_init__(self) -> None:
        if self.over is not None and self.over < 0:
            raise ConfigurationError(
                f"steps are folded over {self.over} tokens",
                where="fold_over",
                hint="0 folds each step, None waits for the user's next turn",
            )

    def heard_by(self, agent: str) -> Compaction:
        """Return the settings for the conversation of ``agent``, for which tasks are marked."""
        return replace(self, voices=replace(self.voices, agent=agent))

    def plan(
        self, messages: Sequence[Any], progress: Progress | None, past: Past = NO_PAST
    ) -> Plan:
        """Plan the commits that are due before the model reads ``messages``.

        Args:
            messages: The conversation, complete or pruned by an earlier plan.
            progress: The progress of the last plan; None at first.
            past: What the thread's log knows.

        Raises:
            InputError: There is no user message, or a message cannot be read.
            StateError: ``progress`` is malformed.
        """
        check_progress(progress)
        role, rest = role_and_rest(as_messages(messages))
        rest, seen = self._sorted(rest, progress, past)
        current = self._current(rest, progress, seen)
        user = rest[current] if current is not None else _restored(progress, rest)
        before, after = rest[: current or 0], rest[0 if current is None else current + 1 :]
        said = [user] if current is not None and user.id not in seen else []
        earlier = [m for m in before if m.id not in seen]
        following = [m for m in after if m.id not in seen and not is_summary(m)]
        folded = self._read(following)
        own, behind = self.observed(said), self.observed(folded)
        # Messages that were recorded for the next turn belong to one turn.
        together = _after_last([*earlier, *said], lambda message: message.id in past.recorded)
        turns = self._turns(earlier, own, behind, together)
        taken = [*earlier, *said, *folded]
        through = taken[-1].id if taken else (progress or {}).get("through", user.id)
        unread = following[len(folded) :]
        kept = healed([*self._unanswered(before), user, *unread])
        return Plan(
            turns, role, [*self._reply(before), *kept], unread,
            {"id": user.id, "content": user.content, "through": through},
            own, len(behind),
        )  # fmt: skip

    def decided(
        self, messages: Sequence[Any], progress: Progress | None
    ) -> tuple[Observation, ...]:
        """Return the agent's words and acts since the last commit, to record before the next.

        Includes only observations that the next commit certainly contains: the steps that the model
        has read, and its answer once it makes no call. Until then the checkpoint holds the latest
        results.
        """
        check_progress(progress)
        _, rest = role_and_rest(as_messages(messages))
        rest, seen = self._sorted(rest, progress, Past(begun=True))
        current = self._current(rest, progress, seen)
        if progress is None or (current is not None and rest[current].id not in seen):
            return ()  # no commit has seen this user message yet
        found = steps([m for m in rest if m.id not in seen and not is_summary(m)])
        over = bool(found) and is_answer(found[-1])
        sure = found if over else found[:-1]
        return self.observed([m for step in sure for m in step])

    def observed(self, messages: Sequence[BaseMessage]) -> tuple[Observation, ...]:
        """Return the observations of ``messages``."""
        return observed(messages, self.voices)

    def opening(self, rest: Sequence[BaseMessage], user_id: str | None) -> int:
        """Return the index of the first message of ``rest``, which has no role, that the agent has not answered."""
        place = next((i for i, m in enumerate(rest) if m.id == user_id), None)
        return 0 if place is None else _after_answer(rest[:place])

    def _turns(
        self,
        earlier: Sequence[BaseMessage],
        own: tuple[Observation, ...],
        behind: tuple[Observation, ...],
        together: int,
    ) -> tuple[Turn, ...]:
        """Group messages into turns, one per user message; the current message's turn is last.

        The first ``together`` messages form one turn, even if they hold several user messages.
        """
        groups: list[list[BaseMessage]] = [[]]
        for place, message in enumerate(earlier):
            if is_users(message, self.voices) and self._is_full(groups[-1], place, together):
                groups.append([])
            groups[-1].append(message)
        if own and self._is_full(groups[-1], len(earlier), together):
            groups.append([])
        made = [self.observed(group) for group in groups]
        made[-1] = (*made[-1], *own, *behind)
        return tuple(Turn(observations=each) for each in made if each)

    def _is_full(self, group: Sequence[BaseMessage], place: int, together: int) -> bool:
        return place >= together and any(is_users(m, self.voices) for m in group)

    def _read(self, unfolded: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Return the steps to fold: all but the latest, if they exceed the limit."""
        read = [m for step in steps(unfolded)[:-1] for m in step]
        if self.over is None or not read:
            return []
        held = sum(self.counter(o.text) for o in self.observed(read))
        return read if held > self.over else []

    def _unanswered(self, before: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Return the messages since the agent's last answer; if they exceed the limit, the newest.

        Tool results of an abandoned turn are excluded because they may be out of date: the model
        has to call again. They are still committed.
        """
        said = [m for m in before[_after_answer(before) :] if _is_said(m)]
        room, kept = UNANSWERED_TOKENS, list[BaseMessage]()
        for message in reversed(said):
            room -= sum(self.counter(o.text) for o in self.observed([message]))
            if room < 0:
                break
            kept.insert(0, message)
        if len(kept) < len(said):
            left = [m.id for m in said[: len(said) - len(kept)]]
            log_event(
                _LOG, logging.WARNING, "unanswered",
                "unanswered messages are only in memory now", messages=left,
            )  # fmt: skip
        return kept

    def _reply(self, before: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Return the agent's answer before the user's messages; a long one keeps both ends."""
        place = _after_answer(before) - 1
        if not (self.reply_chars and place >= 0):
            return []
        text = str(before[place].text)
        if len(text) > self.reply_chars:
            head = max(0, self.reply_chars - len(_CUT)) // 2
            tail = max(0, self.reply_chars - len(_CUT) - head)
            text = text[:head] + _CUT + text[len(text) - tail :]
        return [AIMessage(text, id=before[place].id)] if text else []

    def _current(
        self, rest: Sequence[BaseMessage], progress: Progress | None, seen: Container[str | None]
    ) -> int | None:
        """Return the index of the user's current message: the last new one, or the current one."""
        users = [i for i, m in enumerate(rest) if is_users(m, self.voices)]
        new = [i for i in users if rest[i].id not in seen]
        if new or progress is None:
            return next(iter(new[-1:] or users[-1:]), None)
        return next((i for i, m in enumerate(rest) if m.id == progress["id"]), None)

    def _sorted(
        self, rest: list[BaseMessage], progress: Progress | None, past: Past
    ) -> tuple[list[BaseMessage], set[str | None]]:
        """Return the relevant messages and the ids of those that a commit has seen.

        Drops committed messages that a client sent again after the last commit. Drops messages that a
        commit refused, except the user's last.
        """
        place = committed_in(rest, progress)
        seen = {m.id for m in rest[:place]}
        again = {m.id for m in rest[place:] if m.id in past.committed}
        if progress is None:
            seen |= again or self._repeated(rest, past)
        else:
            rest = [m for i, m in enumerate(rest) if i < place or m.id not in again]
        users = [m for m in rest if m.id not in seen and is_users(m, self.voices)]
        refused = {m.id for m in users[:-1] if past.refused(Turn(observations=self.observed([m])))}
        if refused:
            log_event(
                _LOG, logging.WARNING, "refused_before",
                "messages that a commit refused are not taken in again", messages=refused,
            )  # fmt: skip
        return [m for m in rest if m.id not in refused], seen

    def _repeated(self, rest: Sequence[BaseMessage], past: Past) -> set[str | None]:
        """Return ids of messages that the log holds verbatim, for a transcript without known ids.

        The user's last message always counts as new.
        """
        users = [i for i, m in enumerate(rest) if is_users(m, self.voices)]
        if not (past.begun and users):
            return set()
        told = [
            (place, identity)
            for place, m in enumerate(rest[: users[-1]])
            for identity in spoken(self.observed([m]))
        ]
        known = overlap([identity for _, identity in told], past.spoken())
        return {m.id for m in rest[: told[known - 1][0] + 1]} if known else set()


def spoken(observations: Sequence[Observation]) -> list[str]:
    """Return the identities of the words of user and agent among ``observations``."""
    speech = (Channel.USER, Channel.AGENT)
    return [o.identity[:32] for o in observations if o.channel in speech and not o.is_call]


def overlap(told: Sequence[str], log: Sequence[str]) -> int:
    """Return how many leading entries of ``told`` the log already holds.

    Takes the longest prefix that ends the log. Without one, counts up to the last entry that the
    log holds, because a client may have changed or left out some entries.
    """
    for length in range(min(len(told), len(log)), 0, -1):
        if list(told[:length]) == list(log[-length:]):
            return length
    has = set(log)
    return max((place for place, identity in enumerate(told, 1) if identity in has), default=0)


def committed_in(messages: Sequence[BaseMessage], progress: Progress | None) -> int:
    """Return how many of ``messages`` are committed according to ``progress``."""
    places = {m.id: i for i, m in enumerate(messages) if m.id}
    for name in ("through", "id"):
        if progress and progress.get(name) in places:
            return places[progress[name]] + 1
    return 0


def _after_last(messages: Sequence[BaseMessage], test: Callable[[BaseMessage], bool]) -> int:
    """Return the index after the last message that passes ``test``; 0 if none does."""
    return next((i for i in range(len(messages), 0, -1) if test(messages[i - 1])), 0)


def _after_answer(before: Sequence[BaseMessage]) -> int:
    """Return the index after the agent's last answer."""
    return _after_last(before, lambda message: is_answer([message]))


def _is_said(message: BaseMessage) -> bool:
    """Return whether a message is addressed to the agent, and is neither a step nor a summary."""
    return isinstance(message, HumanMessage | SystemMessage) and not is_summary(message)


def _restored(progress: Progress | None, rest: Sequence[BaseMessage]) -> BaseMessage:
    """Restore the user's current message from ``progress`` after its removal from the messages.

    Raises:
        InputError: ``progress`` is None.
    """
    if progress is None:
        raise InputError(
            "no user message among the messages",
            where=f"{len(rest)} messages",
            hint="pass the messages up to and including the user's current one",
        )
    return HumanMessage(progress["content"], id=progress["id"])


def check_progress(progress: Any) -> None:
    """Check the form of the commit progress.

    Raises:
        StateError: ``progress`` has another form.
    """
    named = isinstance(progress, Mapping) and {"id", "through"} <= progress.keys()
    whole = named and ("content" in progress or isinstance(progress.get("refs"), list))
    if progress is not None and not whole:
        raise StateError(
            "the commit progress in the checkpoint is damaged",
            where=f"keys {sorted(progress)}"
            if isinstance(progress, Mapping)
            else type(progress).__name__,
            hint="leave the channel as the memory wrote it",
        )
