"""What is written to a board: the turn with the words that go there, the proposal over them, and the commit.

Each message is a whole sentence of one speaker, with channel, name and time kept. The proposal is committed with the
same laws as any: each quote has to stand in what went there. Writers of several processes need no lock: a commit is a
compare-and-swap on the board's head, and is made anew if another writer was faster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from acc.artifacts.protocol import Artifact
from acc.board.hearing import LaterWords
from acc.board.origins import Batch, Known, Origin, Origins, State
from acc.commit.commit import Commit, commit
from acc.controller.indexing import Indexing
from acc.driving import Doing, Io
from acc.errors import ConflictError, InputError
from acc.journal import Entry, Journal, Latest, ThreadKey
from acc.journal.names import MAIN
from acc.models.protocol import Usage
from acc.state.items import Pinned, Record, Words
from acc.state.policy import Policy
from acc.state.proposal import (
    Proposal,
    ProposedDone,
    ProposedLater,
    ProposedPin,
    ProposedRecord,
)
from acc.state.tail import Message, marked
from acc.step.step import Cadence, Step
from acc.turn.observations import Channel, Observation, Trust

SAID_TO_ALL = "(says something to all)"
"""Stands for a message that was said to all and is not read yet: its own words stay where they are."""

SAYS_DONE = "(says that a goal is done)"
"""Stands for a message that closes a goal: its own words stay private."""

MOST_TRIES = 200
"""Times that a commit is made anew because another writer was faster. Each time that one has got further."""


class Delivery:
    """What one turn of an agent brings to a board: its new messages, and what changes.

    It ``remembers`` something if a message says of another that it was said to all.
    """

    def __init__(self, batch: Batch, state: State, known: Known) -> None:
        self.batch, self.state, self._known = batch, state, known
        self.messages: list[Message] = []
        self.remembers = False
        self._used: Counter[Channel] = Counter()
        self._refs: dict[tuple[str, str], str] = {}
        self._pins: dict[str, list[ProposedPin]] = {"constraints": [], "goal_orientation": []}
        self._later: list[ProposedLater] = []
        self._done: list[ProposedDone] = []
        self._records: list[ProposedRecord] = []

    def is_news(self, words: Words) -> bool:
        """Whether words of the agent's thread were not brought before."""
        return not self._known.has(self._origin(words.ref), words.text)

    def is_to_all(self, ref: str) -> bool:
        """Whether the board knows that a message of the agent's was said to all."""
        return self._known.is_to_all(self._origin(ref))

    def has_item(self, item_id: str) -> bool:
        """Whether a fact of the agent's was brought before, in any form."""
        return self._known.has_item(self._origin("", item_id))

    def remember(self, message: Message) -> None:
        """Bring that a message was said to all."""
        seen = message.observation.model_copy(update={"text": SAID_TO_ALL})
        self._add(seen, message.at, self._origin(message.ref, is_to_all=True))
        self.remembers = True

    def bring(self, slot: str, item: Pinned) -> None:
        """Bring a rule or goal with what belongs to it."""
        for words in filter(None, (item.about, item.scope)):
            self._said(words)
        texts = (words.text if words else "" for words in (item.about, item.scope))
        label = f"new{sum(map(len, self._pins.values()))}"
        pin = ProposedPin(item.words.text, self._said(item.words), label, *texts)
        self._pins[slot].append(pin)
        self._later += [ProposedLater(label, words.text, self._said(words)) for words in item.later]

    def stand_beside(self, each: LaterWords) -> None:
        """Bring words about an item of the board. Those of a message that closes a goal stay where they are."""
        words, item_id = each.words, each.item.id
        if each.kind == "done":
            words = words.model_copy(update={"text": SAYS_DONE})
            self._done.append(ProposedDone(item_id, self._said(words)))
        elif each.kind == "again":
            self._pins[each.slot.name].append(ProposedPin(words.text, self._said(words)))
        else:
            ref = self._said(words)
            self._later.append(ProposedLater(item_id, words.text, ref, each.ends, each.begins))

    def tell(self, slot: str, record: Record) -> None:
        """Bring a fact as the agent's words, or as a tool's or document's if it rests on them."""
        channel = Channel.AGENT if record.trust >= Trust.AGENT else Channel(record.trust.word)
        seen = Observation(channel=channel, text=record.text_of)
        origin = self._origin(" ".join(record.sources), record.id)
        ref = self._add(seen, self.batch.at, origin)
        own = type(record).own_fields()
        fields: dict[str, Any] = {n: v for n in own if (v := getattr(record, n)) not in ("", None)}
        self._records.append(ProposedRecord(slot, fields, (ref,), self._earlier(slot, record.id)))

    def _earlier(self, slot: str, item_id: str) -> str:
        """Return the board's record that an earlier version of the agent's record became."""
        for held in getattr(self.state, slot):
            origins = filter(None, map(self._known.by_ref.get, held.sources))
            if any((o.thread, o.item) == (self.batch.thread, item_id) for o in origins):
                return str(held.id)
        return ""

    def _origin(self, ref: str, item: str = "", *, is_to_all: bool = False) -> Origin:
        state = self.batch.state
        return Origin(self.batch.thread, state.branch, state.version, ref, item, is_to_all)

    def _said(self, words: Words) -> str:
        """Return the ref of the message that holds words; the board's own need none."""
        key = (words.ref, words.text)
        if words.ref and key not in self._refs:
            name = words.speaker if words.channel is Channel.USER else ""
            seen = Observation(channel=words.channel, text=words.text, name=name)
            self._refs[key] = self._add(seen, words.at, self._origin(words.ref))
        return self._refs.get(key, "")

    def _add(self, seen: Observation, at: str, origin: Origin) -> str:
        """Add a message, and return its ref."""
        number, used = self.state.turn + 1, self._used[seen.channel]
        self._used[seen.channel] += 1
        ref = f"{seen.channel.value[0]}{number}" + (f".{used}" if used else "")
        changes = {"ref": ref, "message": origin.mark, "at": at, "call_id": ""}
        self.messages.append(Message(seen.model_copy(update=changes).as_split(), number, at))
        return ref

    def proposal(self) -> Proposal:
        """Return what changes."""
        return Proposal(
            rules=tuple(self._pins["constraints"]), goals=tuple(self._pins["goal_orientation"]),
            later=tuple(self._later), done=tuple(self._done), records=tuple(self._records),
        )  # fmt: skip


Make = Callable[[State, Known], Commit[Any] | None]
"""Makes a commit of the board's newest state and what it has already; None if there is nothing to write."""


@dataclass(frozen=True)
class Desk:
    """What writing on a board needs."""

    journal: Journal
    index: Indexing
    origins: Origins
    policy: Policy
    key: ThreadKey

    def latest(self) -> Io:
        """Read head, state and tail."""
        return Io(lambda: self.journal.latest(self.key, schema=self.policy.schema))

    def state_of(self, latest: Latest[Any]) -> State:
        """Return the state, an empty one of a new board."""
        return latest.state if latest.state is not None else self.policy.schema.empty()

    def step(self, latest: Latest[Any], commits: Sequence[Commit[Any]]) -> Step[Any]:
        """Return what was committed as a step of the board's thread."""
        state = commits[-1].state
        tail = marked(state.unread, latest.tail)
        return Step(state, tail, tuple(commits), Usage(), "", self.policy, Cadence())

    def persist(self, latest: Latest[Any], done: Commit[Any], reason: str) -> None:
        """Append a commit with its messages, if the head is still that of ``latest``. It blocks."""
        follows, messages = latest.head, done.given.turn
        where: dict[str, Any] = {"follows": follows.hash, "epoch": follows.epoch}
        entries = [Entry(done, self.policy, outcome=reason)]
        if not messages:
            self.journal.commit(self.key, entries, **where)
            return
        turned = self.journal.append_and_commit(self.key, messages, entries, **where)
        added = [Artifact(each, MAIN, turned.first + n) for n, each in enumerate(messages)]
        self.index.committed(self.key, MAIN, added)


def writing(
    desk: Desk, make: Make, reason: str = ""
) -> Doing[tuple[Latest[Any], Commit[Any] | None]]:
    """Commit what ``make`` makes of the board's newest state; anew if another writer was faster.

    Returns:
        Where the board stands then, and the commit; None if there was nothing to write.

    Raises:
        ConflictError: Other writers were faster all the time.
    """
    for left in reversed(range(MOST_TRIES)):
        latest: Latest[Any] = yield desk.latest()
        known: Known = yield Io(lambda: desk.origins.of(desk.key))
        done = make(desk.state_of(latest), known)
        if done is None:
            break
        try:
            yield Io(lambda a=latest, b=done: desk.persist(a, b, reason))  # type: ignore[misc]
        except ConflictError:
            if not left:
                raise
        else:
            return (yield desk.latest()), done
    return latest, None


def retiring(desk: Desk, ids: Sequence[str], reason: str) -> Doing[Step[Any]]:
    """Remove items of the board as its operator.

    Raises:
        InputError: The board does not hold one of them.
    """

    def make(state: State, *_: object) -> Commit[Any]:
        if not ids or any(state.find(each) is None for each in ids):
            raise InputError(
                f"not all of {list(ids)} are there",
                where=str(desk.key),
                hint="see BoardMemory.head",
            )
        proposal = Proposal(drop=tuple(ids), author="operator")
        return commit(state, desk.policy, proposal=proposal)

    latest, done = yield from writing(desk, make, reason)
    assert done is not None
    return desk.step(latest, [done])
