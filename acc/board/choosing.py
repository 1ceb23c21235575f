"""What of an agent's turn may be shared: who said it to all. Unclear means private."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from acc.board.board import Board, Shareable
from acc.board.hearing import Beside, Marks, is_earlier
from acc.board.origins import Batch, Known, Origin, State
from acc.commit.endings import said_last
from acc.commit.sources import words_of
from acc.state.items import Item, Pinned, Record, Words
from acc.state.slots import SlotField
from acc.tail import Message
from acc.text.quoting import same_words
from acc.turn.observations import Channel

NOBODY = "nobody said it to all"


@dataclass
class Chosen:
    """What goes to the board, and why the rest does not.

    Attributes:
        to_all: Messages that were said to all, and whose sentences may come later.
        new: Rules and goals.
        beside: Words about items of the board.
        facts: The agent's own words.
        shared: Why a rule or goal is shared, one line each.
        private: What stays with the agent, and why, one line each.
        warnings: Why a filter could not be asked.
    """

    to_all: list[Message] = field(default_factory=list)
    new: list[tuple[SlotField, Pinned]] = field(default_factory=list)
    beside: list[Beside] = field(default_factory=list)
    facts: list[tuple[SlotField, Record]] = field(default_factory=list)
    shared: list[str] = field(default_factory=list)
    private: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass
class Choosing:
    """Chooses for one batch of an agent, beside the board's state and what is known of its messages.

    Attributes:
        board: The board.
        batch: What the agent's commits made.
        beside: Words of it about the board's own items.
        marks: What the listener says of its sentences; None if the listener failed.
        state: The board's state.
        known: What the board has already.
        to_all: Messages that go to all, as the caller says.
    """

    board: Board
    batch: Batch
    beside: Sequence[Beside]
    marks: Marks | None
    state: State
    known: Known
    to_all: Sequence[Message]
    found: Chosen = field(default_factory=Chosen)

    def chosen(self) -> Chosen:
        """Return what goes to the board."""
        for slot, item in self.batch.brought:
            if self.board.shares(slot):
                self._own(slot, item)
        self.found.beside += filter(self._may_stand, self.beside)
        for message in filter(self._is_open, self.to_all):
            self.found.to_all.append(message)
            self._stays(words_of(message, message.text), "what was said to all is not read yet")
        return self.found

    def _is_open(self, message: Message) -> bool:
        """Whether it has to be remembered that a message was said to all: not all of it was read."""
        is_read = self.marks is not None and self.batch.is_settled(message.ref)
        return not is_read and not self.known.is_to_all(self._origin(message.ref))

    def _own(self, slot: SlotField, item: Item) -> None:
        """Choose whether an item that the agent's own compression brought is shared."""
        if isinstance(item, Record):
            self._fact(slot, item)
            return
        assert isinstance(item, Pinned)
        held = held_on(self.state, slot, item)
        if held is None:
            self._pin(slot, item)
        elif self._is_news(item.words) and not is_earlier(item.words, held.words):
            self.found.beside.append(Beside(slot, held, item.words, "again"))

    def _pin(self, slot: SlotField, item: Pinned) -> None:
        """Choose a rule or goal with what may go along, unless the board had it before."""
        words = said_last(item)
        if not self._is_news(words):
            return
        reason, why = self._judged(slot, item, words)
        if reason and getattr(item, "offer", None) is not None:
            why = "it agrees to an agent's words, which nobody said to all"
        if why:
            self._stays(words, why)
            return
        later = tuple(
            w for w in item.later if w != words and not self._is_kept(slot, item, w, "later")
        )
        update: dict[str, object] = {"words": words, "later": later, "ending": None}
        for name in ("about", "scope"):
            aside: Words | None = getattr(item, name)
            if aside and self._is_kept(slot, item, aside, name):
                update[name] = None
        self.found.new.append((slot, item.model_copy(update=update)))
        self.found.shared.append(f"{_named(words)} is shared: {reason}")

    def _is_kept(self, slot: SlotField, item: Item, words: Words, name: str) -> bool:
        """Whether words that belong to a shared rule stay with the agent. It is told."""
        why = self._judged(slot, item, words)[1]
        if why:
            self._stays(words, f"the {name} of a rule, and {why}")
        return bool(why)

    def _judged(self, slot: SlotField, item: Item, words: Words) -> tuple[str, str]:
        """Return why words are shared, or else why they are not; one of both is empty."""
        if words.channel is Channel.OPERATOR:
            return "the operator said it", ""
        if self.marks is None:
            return "", "the listener failed, and is asked again"
        if self.marks.is_private(words):
            return "", "the listener calls it private"
        if to := self.marks.to(words):
            return f'the user says "{to[:80]}"', ""
        if self._said_to_all(words):
            return "it was said to all", ""
        if self._allows(slot, item, words):
            return "the board's filter allows it", ""
        return "", NOBODY

    def _stays(self, words: Words, why: str) -> None:
        self.found.private.append(f"{_named(words)} stays private: {why}")

    def _may_stand(self, each: Beside) -> bool:
        """Whether words about an item of the board may be read by all.

        Words that end it may, whomever they were said to, if a second reading agrees.
        """
        if not each.words.ref:
            return True
        if not self._is_news(each.words) or not self.board.shares(each.slot):
            return False
        reason, why = self._judged(each.slot, each.item, each.words)
        if reason or each.kind == "done" or (each.is_over and why == NOBODY):
            return True
        self._stays(each.words, f"about {each.item.id} of the board, and {why}")
        return False

    def _is_news(self, words: Words) -> bool:
        return not self.known.has(self._origin(words.ref), words.text)

    def _fact(self, slot: SlotField, item: Record) -> None:
        why = "the listener failed, and is asked again"
        if self.marks is not None:
            is_there = self.known.has_item(self._origin("", item.id))
            why = self.marks.why_private(item.sources, is_there=is_there)
        if not why and self.board.allow is not None and not self._allows(slot, item, None):
            why = "the board's filter does not allow it"
        if why:
            self.found.private.append(f'{item.id} "{item.text_of[:80]}" stays private: {why}')
        else:
            self.found.facts.append((slot, item))

    def _said_to_all(self, words: Words) -> bool:
        is_now = any(message.ref == words.ref for message in self.to_all)
        is_known = is_now or self.known.is_to_all(self._origin(words.ref))
        return is_known and words.channel is Channel.USER

    def _allows(self, slot: SlotField, item: Item, words: Words | None) -> bool:
        if self.board.allow is None:
            return False
        try:
            return self.board.allow(Shareable(slot.name, item, words, self.batch.thread)) is True
        except Exception as error:  # anybody's function
            self.found.warnings.append(f"the board's filter failed: {type(error).__name__}")
            return False

    def _origin(self, ref: str, item: str = "") -> Origin:
        state = self.batch.state
        return Origin(self.batch.thread, state.branch, state.version, ref, item)


def _named(words: Words) -> str:
    return f'{words.ref} "{words.text[:80]}"'


def held_on(state: State, slot: SlotField, item: Pinned) -> Pinned | None:
    """Return the item of a board that says the same as an agent's, in the words of somebody as trusted."""
    if getattr(item, "offer", None) is not None:
        return None
    same = (
        held
        for held in getattr(state, slot.name, ())
        if same_words(held.words.text, item.words.text) and held.words.trust >= item.words.trust
    )
    return next(same, None)
