"""Progress of an agent's runs: who wrote each human message, what was shown, what was removed.

The notes are plain JSON, stored with the state in the agent's checkpoint. A fork or a resumed run
therefore continues from its own past only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, NamedTuple

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.tracers.context import register_configure_hook

from acc.errors import ConfigurationError, StateError
from acc.integrations.compaction import NO_PAST, Compaction, Past, Progress, committed_in
from acc.integrations.identity import within
from acc.integrations.messages import as_messages, healed, is_users, role_and_rest
from acc.integrations.stepping import COMMITTED
from acc.turn.observations import Observation
from acc.turn.turn import Turn


class PromptWatch(BaseCallbackHandler):
    """Collects the prompts of all chat model calls in a block, including failed attempts.

    Attributes:
        prompts: The messages of each call, in order.
    """

    run_inline = True

    def __init__(self) -> None:
        self.prompts: list[list[BaseMessage]] = []

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], **_: Any
    ) -> None:
        """Collect the prompts; LangChain calls this before each chat model call."""
        self.prompts.extend(messages)

    def check(self, state: str, user_id: str | None) -> None:
        """Check that at least one prompt contains the rendered state and the user's message, if there is one.

        Raises:
            ConfigurationError: No prompt contains both.
        """
        lost = [part for prompt in self.prompts if (part := _lost(prompt, state, user_id))]
        # Without any prompt the answer came without a model, for example from a cache.
        if self.prompts and len(lost) == len(self.prompts):
            raise ConfigurationError(
                f"a middleware took {lost[-1]} out of the prompt",
                where="a middleware listed after MemoryMiddleware",
                hint="list MemoryMiddleware after every middleware that writes prompts",
            )


_WATCH: ContextVar[PromptWatch | None] = ContextVar("acc_prompt_watch", default=None)
register_configure_hook(_WATCH, inheritable=True)


def watching() -> AbstractContextManager[PromptWatch]:
    """Collect the prompts of chat models called in the block, in this thread or task."""
    return within(_WATCH, PromptWatch())


def _lost(prompt: Sequence[BaseMessage], state: str, user_id: str | None) -> str:
    said = "\n\n".join(str(m.text) for m in prompt if isinstance(m, SystemMessage))
    if state not in said:
        return "the memory's state"
    if user_id is not None and all(m.id != user_id for m in prompt):
        return "the user's message"
    return ""


WRITTEN = "middleware"
"""Evidence name of a human message that a middleware wrote; such a message is a document."""


class CommitPlan(NamedTuple):
    """The commits that are due before the model call, and what they leave.

    Attributes:
        turns: Turns to commit, in order.
        messages: The channel's messages afterwards.
        notes: The notes afterwards.
    """

    turns: tuple[Turn, ...]
    messages: list[BaseMessage]
    notes: RunNotes


@dataclass(frozen=True)
class RunNotes:
    """What the memory knows of the messages in the agent's channel.

    Attributes:
        mark: Commit progress.
        users: Ids of the user's messages that no commit has seen.
        written: Ids of human messages that a middleware added to the turn.
        shown: Identities of observations by the id of their message, for messages that the model
            was shown and no commit has seen.
        agent: The agent that owns a nested run's memory; empty for a top-level run.
    """

    mark: Progress | None = None
    users: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    shown: Mapping[str, Sequence[str]] = field(default_factory=dict)
    agent: str = ""

    @classmethod
    def load(cls, raw: Mapping[str, Any] | None) -> RunNotes:
        """Load the notes that `dump` made; None makes empty notes.

        Raises:
            StateError: ``raw`` does not come from `dump`.
        """
        if raw is None:
            return cls()
        if not _is_dumped(raw):
            raise StateError(
                "the run notes in the checkpoint are damaged",
                where=f"keys {sorted(raw)}" if isinstance(raw, Mapping) else type(raw).__name__,
                hint="leave the channel as the memory wrote it",
            )
        return cls(**raw)

    def dump(self) -> dict[str, Any]:
        """Return plain JSON values."""
        noted = asdict(self)
        return {**noted, "users": list(self.users), "written": list(self.written)}

    def entered(self, messages: Sequence[Any], compaction: Compaction) -> RunNotes:
        """Return the notes for a new run; ``users`` become the new messages by the user."""
        new = self.since(as_messages(messages))
        users = [m for m in new if is_users(m, compaction.voices) and m.id not in self.written]
        return replace(self, users=tuple(str(m.id) for m in users))

    def with_state_hash(self, state: str) -> RunNotes:
        """Return the notes with the hash of the state that is stored with them."""
        return replace(self, mark={**self.mark, COMMITTED: state}) if self.mark else self

    @property
    def user_id(self) -> str | None:
        """Id of the user's current message, once it is committed."""
        return self.mark["id"] if self.mark else None

    def since(self, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Return the messages that no commit has seen."""
        return list(messages[committed_in(messages, self.mark) :])

    def removed(self, messages: Sequence[Any]) -> list[str]:
        """Return identities of shown, uncommitted observations that a middleware removed."""
        present = {m.id for m in as_messages(messages)}
        return [key for name, keys in self.shown.items() if name not in present for key in keys]

    def plan(
        self,
        messages: Sequence[Any],
        compaction: Compaction,
        *,
        past: Past = NO_PAST,
        restored: Sequence[Observation] = (),
    ) -> CommitPlan:
        """Plan the commits before the model reads ``messages``, and the messages it then reads.

        The observations ``restored`` are those that `removed` named. They are committed now, together with
        everything that the model has read, because no later prompt shows them.

        Raises:
            InputError: There is no user message, or a message cannot be read.
            ConfigurationError: A middleware rewrote or replaced a user message.
        """
        whole = as_messages(messages)
        self._check_user(whole)
        written, named = self.separate_written(whole, compaction)
        how = replace(compaction, over=0) if restored else compaction
        plan = how.plan(named, self.mark, past)
        own = {m.id: m for m in whole}
        kept = [own.get(m.id, m) for m in (*plan.role, *plan.kept)]
        shown = _identities(plan.unread, compaction)
        notes = replace(
            self, mark=plan.progress, users=(), written=tuple(i for i in written if i in shown),
            shown=shown,
        )  # fmt: skip
        return CommitPlan(_with(restored, plan.turns), kept, notes)

    def separate_written(
        self, messages: Sequence[BaseMessage], compaction: Compaction
    ) -> tuple[list[str], list[BaseMessage]]:
        """Return ids of human messages by middlewares, and all messages with those ones named.

        Trust comes by channel: only the agent's input is the user's.
        """
        users = {*self.users, self.user_id}
        written = [
            str(m.id)
            for m in self.since(messages)
            if is_users(m, compaction.voices) and m.id not in users
        ]
        named = [m.model_copy(update={"name": WRITTEN}) if m.id in written else m for m in messages]
        return written, named

    def view(self, messages: Sequence[BaseMessage], compaction: Compaction) -> list[BaseMessage]:
        """Return the current turn of ``messages``, with the user's message restored if removed."""
        role, rest = role_and_rest(messages)
        if self.mark and all(m.id != self.user_id for m in rest):
            rest = [HumanMessage(self.mark["content"], id=self.user_id), *rest]
        return [*role, *healed(rest[compaction.opening(rest, self.user_id) :])]

    def showing(self, messages: Sequence[Any], compaction: Compaction) -> tuple[Observation, ...]:
        """Return the shown observations that no commit has seen.

        They may be recorded, because the next commit contains them once the model has read them.
        """
        _, named = self.separate_written(as_messages(messages), compaction)
        return compaction.observed([m for m in named if m.id in self.shown])

    def unseen(self, messages: Sequence[Any], compaction: Compaction) -> tuple[Observation, ...]:
        """Return all observations that no commit has seen, to record at the end of a run."""
        _, named = self.separate_written(as_messages(messages), compaction)
        return compaction.observed(self.since(role_and_rest(named)[1]))

    def ended(self, messages: Sequence[Any], compaction: Compaction) -> RunNotes:
        """Return the notes at the end of a run. The caller has recorded the observations (`unseen`).

        If a middleware removes one of them before the next run, the record restores it.
        """
        _, named = self.separate_written(as_messages(messages), compaction)
        unseen = self.since(role_and_rest(named)[1])
        return replace(self, shown={**self.shown, **_identities(unseen, compaction)})

    def check_unchanged(self, messages: Sequence[Any], compaction: Compaction) -> None:
        """Check that no middleware rewrote a message that was just stored or committed.

        Raises:
            ConfigurationError: A middleware did, for example a redaction that came too late.
        """
        _, named = self.separate_written(as_messages(messages), compaction)
        shown = [m for m in named if m.id in self.shown]
        now = _identities(shown, compaction)
        for message in shown:
            if list(self.shown[str(message.id)]) != now[str(message.id)]:
                raise _rewritten(message)
        self._check_user(named)

    def _check_user(self, messages: Sequence[BaseMessage]) -> None:
        for message in messages:
            if message.id in self.users and not isinstance(message, HumanMessage):
                raise ConfigurationError(
                    f"a middleware put a {message.type} message in the place of the user's",
                    where=f"message {message.id}",
                    hint="give what the middleware adds an id of its own",
                )
            is_current = self.mark is not None and message.id == self.user_id
            if is_current and self.mark and message.content != self.mark["content"]:
                raise _rewritten(message)


def _rewritten(message: BaseMessage) -> ConfigurationError:
    return ConfigurationError(
        f"a middleware rewrote a {message.type} message after the memory took it in",
        where=f"message {message.id}; its first form is evidence by now",
        hint="list the middleware that redacts or rewrites messages before MemoryMiddleware; what "
        "the user corrects is a new message, under an id of its own",
    )


def _is_dumped(raw: Any) -> bool:
    """Return whether ``raw`` has the shape of `RunNotes.dump`."""
    if not isinstance(raw, Mapping) or not raw.keys() <= {f.name for f in fields(RunNotes)}:
        return False
    lists = (raw.get("users", []), raw.get("written", []))
    shown, mark = raw.get("shown", {}), raw.get("mark")
    return (
        isinstance(raw.get("agent", ""), str)
        and all(isinstance(names, list) for names in lists)
        and isinstance(shown, Mapping)
        and all(isinstance(keys, list) for keys in shown.values())
        and (mark is None or {"id", "content", "through"} <= {*mark})
    )


def _identities(messages: Sequence[BaseMessage], compaction: Compaction) -> dict[str, list[str]]:
    """Return identities of observations by the id of their message, read in context."""
    found: dict[str, list[str]] = {str(m.id): [] for m in messages}
    for observation in compaction.observed(messages):
        found[observation.message].append(observation.identity[:32])
    return found


def _with(restored: Sequence[Observation], turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
    """Put ``restored`` at the start of the first turn."""
    if not restored:
        return turns
    first, *others = turns or (Turn(observations=()),)
    return (Turn(observations=(*restored, *first.observations)), *others)
