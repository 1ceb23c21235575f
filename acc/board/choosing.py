"""What of an agent's turn may be shared: who said it to all. Unclear means private."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from acc.board.batch import Batch, State
from acc.board.board import Board, Shareable
from acc.board.hearing import Beside, Heard, is_earlier
from acc.board.origins import Known, Origin
from acc.state.items import Item, Pinned, Record, Words
from acc.state.slots import SlotField
from acc.tail import Message
from acc.text.quoting import same_words
from acc.turn.observations import Channel


@dataclass
class Chosen:
    """What goes to the board, and why the rest does not.

    Attributes:
        whole: Messages that were said to all, which the board does not have yet.
        new: Rules and goals.
        beside: Words about items of the board.
        facts: The agent's own words.
        private: What stays with the agent, one line each.
        warnings: Why a filter could not be asked.
    """

    whole: list[Message] = field(default_factory=list)
    new: list[tuple[SlotField, Pinned]] = field(default_factory=list)
    beside: list[Beside] = field(default_factory=list)
    facts: list[tuple[SlotField, Record]] = field(default_factory=list)
    private: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass
class Choosing:
    """Chooses for one batch of an agent, beside the board's state and what is known of its messages.

    Attributes:
        board: The board.
        batch: What the agent's commits made.
        heard: What it means for the board's own items.
        state: The board's state.
        known: What the board has already.
        to_all: Messages that go to all, as the caller says.
        is_discerning: Whether the listener was told what may be shared.
    """

    board: Board
    batch: Batch
    heard: Heard
    state: State
    known: Known
    to_all: Sequence[Message]
    is_discerning: bool
    found: Chosen = field(default_factory=Chosen)

    def chosen(self) -> Chosen:
        """Return what goes to the board."""
        found = self.found
        found.whole += [m for m in self.to_all if not self.known.is_whole(self._origin(m.ref))]
        for slot, item in self.batch.brought:
            if isinstance(item, Pinned) and self.board.shares(slot):
                self._own(slot, item)
        for slot, item in self.heard.new:
            is_said = self.is_discerning or self._said_to_all(item.words)
            if is_said and self.board.shares(slot) and not _stands(found.new, slot, item):
                self._take(slot, item, self._may_be_heard)
        found.beside += [each for each in self.heard.beside if self._may_stand(each)]
        found.facts += self._facts()
        return found

    def _own(self, slot: SlotField, item: Pinned) -> None:
        """Choose whether a rule or goal that the agent's own compression brought is shared."""
        held = held_on(self.state, slot, item)
        if held is not None:
            again = Beside(slot, held, item.words, "again")
            if self._is_news(item.words) and not is_earlier(item.words, held.words):
                self.found.beside.append(again)
            return

        def may(words: Words) -> bool:
            return self._said_to_all(words) or self._allows(slot, item, words)

        if may(item.words):
            self._take(slot, item, may)
        elif not (self.is_discerning and _stands(self.heard.new, slot, item)):
            self._stays(item.words, "nobody said it to all")

    def _take(self, slot: SlotField, item: Pinned, may: Callable[[Words], bool]) -> None:
        """Take an item with what may go along, unless the board had it before."""
        if not self._is_news(item.words):
            return
        if getattr(item, "offer", None) is not None:
            self._stays(item.words, "it agrees to an agent's words, which nobody said to all")
            return
        update: dict[str, object] = {"later": tuple(filter(may, item.later)), "ending": None}
        for name in ("about", "scope"):
            words: Words | None = getattr(item, name)
            if words and words.ref not in ("", item.words.ref) and not may(words):
                update[name] = None
                self._stays(words, f"the {name} of a rule, which nobody said to all")
        self.found.new.append((slot, item.model_copy(update=update)))

    def _stays(self, words: Words, why: str) -> None:
        self.found.private.append(f'{words.ref} "{words.text[:80]}" stays private: {why}')

    def _may_be_heard(self, words: Words) -> bool:
        return self.is_discerning or self._said_to_all(words)

    def _may_stand(self, each: Beside) -> bool:
        """Whether words about an item of the board may be read by all: they end it, or somebody said them to all."""
        if not each.words.ref:
            return True
        is_open = each.kind != "later" or each.ends or self._may_be_heard(each.words)
        may = is_open or self._allows(each.slot, each.item, each.words)
        return may and self._is_news(each.words) and self.board.shares(each.slot)

    def _is_news(self, words: Words) -> bool:
        return not self.known.has(self._origin(words.ref), words.text)

    def _facts(self) -> Iterator[tuple[SlotField, Record]]:
        is_open = self.board.allow is None
        for slot, item in self.batch.brought:
            if not isinstance(item, Record) or not self.board.shares(slot):
                continue
            if is_open or self._allows(slot, item, None):
                yield slot, item

    def _said_to_all(self, words: Words) -> bool:
        is_now = any(message.ref == words.ref for message in self.to_all)
        is_marked = is_now or self.known.is_whole(self._origin(words.ref))
        return words.channel is Channel.OPERATOR or (is_marked and words.channel is Channel.USER)

    def _allows(self, slot: SlotField, item: Item, words: Words | None) -> bool:
        if self.board.allow is None:
            return False
        try:
            return self.board.allow(Shareable(slot.name, item, words, self.batch.thread)) is True
        except Exception as error:  # anybody's function
            self.found.warnings.append(f"the board's filter failed: {type(error).__name__}")
            return False

    def _origin(self, ref: str) -> Origin:
        return Origin(self.batch.thread, self.batch.state.branch, self.batch.state.version, ref)


def _stands(items: Iterable[tuple[SlotField, Pinned]], slot: SlotField, item: Pinned) -> bool:
    words = item.words.text
    return any(s.name == slot.name and same_words(i.words.text, words) for s, i in items)


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
