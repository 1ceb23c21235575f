"""How far an agent's runs have come: whose each human message is, what was shown, what is gone.

Plain JSON beside the state in the agent's checkpoint, so that a fork or a resumed run goes on
from what its own past was, and from nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage, HumanMessage

from acc.errors import ConfigurationError, StateError
from acc.integrations.folding import Folding, Mark
from acc.integrations.held_state import COMMITTED
from acc.integrations.messages import (
    as_messages,
    healed,
    is_users,
    role_and_rest,
    turn_of,
)
from acc.turn import Observation, Turn

WRITTEN = "middleware"
"""Name under which a human message that a middleware wrote is evidence: a document's."""


class Look(NamedTuple):
    """What is to be done before the model is called.

    Attributes:
        turn: What is to be committed; None where nothing is.
        messages: What the channel holds afterwards.
        notes: The notes afterwards.
    """

    turn: Turn | None
    messages: list[BaseMessage]
    notes: RunNotes


@dataclass(frozen=True)
class RunNotes:
    """What is known of the messages that stand in the agent's channel.

    Attributes:
        mark: How far the commits have come.
        users: Ids of the user's messages that no commit has seen.
        written: Ids of human messages that a middleware wrote into the turn.
        shown: By the id of a message that the model was shown and no commit has seen:
            the identities of its observations.
    """

    mark: Mark | None = None
    users: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    shown: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @classmethod
    def load(cls, raw: Mapping[str, Any] | None) -> RunNotes:
        """The notes that `dump` made; empty ones for None.

        Raises:
            StateError: Somebody else made them.
        """
        if raw is None:
            return cls()
        if not _is_dumped(raw):
            raise StateError(
                "not the notes of how far an agent's runs have come",
                where=f"keys {sorted(raw)}" if isinstance(raw, Mapping) else type(raw).__name__,
                mend="leave the channel as the memory wrote it",
            )
        return cls(**raw)

    def dump(self) -> dict[str, Any]:
        """Plain JSON values."""
        noted = asdict(self)
        return {**noted, "users": list(self.users), "written": list(self.written)}

    def entered(self, messages: Sequence[Any], folding: Folding) -> RunNotes:
        """The notes once the agent is entered with new input: whose messages it came with."""
        new = self.since(as_messages(messages))
        users = [m for m in new if is_users(m, folding.channels) and m.id not in self.written]
        return replace(self, users=tuple(str(m.id) for m in users))

    def beside(self, state: str) -> RunNotes:
        """The notes that stand beside the state of that hash."""
        return replace(self, mark={**self.mark, COMMITTED: state}) if self.mark else self

    @property
    def user_id(self) -> str | None:
        """Id of the user's current message, once it is committed."""
        return self.mark["id"] if self.mark else None

    def since(self, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        """The messages that no commit has seen."""
        for name in ("through", "id") if self.mark else ():
            found = turn_of(messages, str((self.mark or {}).get(name)))
            if found is not None:
                return found[1:]
        return list(messages)

    def gone(self, messages: Sequence[Any]) -> list[str]:
        """Identities of what was shown, never committed, and taken out by another middleware."""
        present = {m.id for m in as_messages(messages)}
        return [key for name, keys in self.shown.items() if name not in present for key in keys]

    def look(
        self,
        messages: Sequence[Any],
        folding: Folding,
        *,
        begun: bool,
        gone: Sequence[Observation] = (),
    ) -> Look:
        """What to commit before the model reads ``messages``, and what it reads then.

        Args:
            messages: The channel's.
            folding: How messages become turns.
            begun: Whether the thread has a state.
            gone: The observations that `gone` named. They are committed now, and with them
                all that the model has read: nobody else will show them to it again.

        Raises:
            InputError: No user message, or one that cannot be read.
        """
        whole = as_messages(messages)
        self._check_user(whole)
        written, named = self.told_apart(whole, folding)
        fold = (replace(folding, over=0) if gone else folding).look(named, self.mark, begun=begun)
        own = {m.id: m for m in whole}
        kept = [own.get(m.id, m) for m in (*fold.role, *fold.kept)]
        shown = {str(m.id): _identities(m, folding) for m in fold.kept[1:]}
        notes = RunNotes(fold.mark, (), tuple(i for i in written if i in shown), shown)
        return Look(_with(gone, fold.turn), kept, notes)

    def told_apart(
        self, messages: Sequence[BaseMessage], folding: Folding
    ) -> tuple[list[str], list[BaseMessage]]:
        """Ids of the human messages that middlewares wrote, and the messages with these named.

        Trust comes by channel: only what the agent was entered with is the user's.
        """
        users = {*self.users, self.user_id}
        written = [
            str(m.id)
            for m in self.since(messages)
            if is_users(m, folding.channels) and m.id not in users
        ]
        named = [m.model_copy(update={"name": WRITTEN}) if m.id in written else m for m in messages]
        return written, named

    def view(self, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        """The current turn of ``messages``; the user's message stands there whoever removed it."""
        role, rest = role_and_rest(messages)
        turn = turn_of(rest, str(self.user_id))
        if turn is None and self.mark:
            turn = [HumanMessage(self.mark["content"], id=self.user_id), *rest]
        return [*role, *healed(turn if turn is not None else rest)]

    def showing(self, messages: Sequence[Any], folding: Folding) -> tuple[Observation, ...]:
        """What the model is shown of ``messages``, and no commit has seen.

        Once it has read them, they are what the next commit takes in; so they may be recorded.
        """
        _, named = self.told_apart(as_messages(messages), folding)
        return folding.observed([m for m in named if m.id in self.shown])

    def unseen(self, messages: Sequence[Any], folding: Folding) -> tuple[Observation, ...]:
        """All that no commit has seen: to be recorded once a run is over."""
        _, named = self.told_apart(as_messages(messages), folding)
        return folding.observed(self.since(role_and_rest(named)[1]))

    def check_unchanged(self, messages: Sequence[Any], folding: Folding) -> None:
        """See that nobody rewrote what was stored or committed just before.

        Raises:
            ConfigurationError: Somebody did, such as a redaction that came too late.
        """
        _, named = self.told_apart(as_messages(messages), folding)
        for message in named:
            stored = self.shown.get(str(message.id))
            if stored is not None and list(stored) != _identities(message, folding):
                raise _rewritten(message)
        self._check_user(named)

    def _check_user(self, messages: Sequence[BaseMessage]) -> None:
        for message in messages:
            is_current = self.mark is not None and message.id == self.user_id
            if is_current and self.mark and message.content != self.mark["content"]:
                raise _rewritten(message)


def _rewritten(message: BaseMessage) -> ConfigurationError:
    return ConfigurationError(
        f"a middleware rewrote a {message.type} message after the memory took it in",
        where=f"message {message.id}; its first form is evidence by now",
        mend="list the middleware that redacts or rewrites messages before MemoryMiddleware; what "
        "the user corrects is a new message, under an id of its own",
    )


def _is_dumped(raw: Any) -> bool:
    """Whether ``raw`` has the shape of what `RunNotes.dump` makes."""
    if not isinstance(raw, Mapping) or not raw.keys() <= {f.name for f in fields(RunNotes)}:
        return False
    lists = (raw.get("users", []), raw.get("written", []))
    shown, mark = raw.get("shown", {}), raw.get("mark")
    return (
        all(isinstance(names, list) for names in lists)
        and isinstance(shown, Mapping)
        and all(isinstance(keys, list) for keys in shown.values())
        and (mark is None or {"id", "content", "through"} <= {*mark})
    )


def _identities(message: BaseMessage, folding: Folding) -> list[str]:
    return [o.identity[:32] for o in folding.observed([message])]


def _with(gone: Sequence[Observation], turn: Turn | None) -> Turn | None:
    if not gone:
        return turn
    if turn is None:
        return Turn(observations=tuple(gone))
    return turn.model_copy(update={"observations": (*gone, *turn.observations)})
