"""What of an agent's turn may be shared: who said it to all. Unclear means private."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from acc.board.board import Board, Shareable
from acc.board.hearing import LaterWords, SharingMarks, is_earlier
from acc.board.writing import Delivery
from acc.commit.endings import said_last
from acc.commit.sources import words_of
from acc.state.items import Item, Pinned, Record, Words
from acc.state.model import CompressedCognitiveState
from acc.state.slots import SlotField
from acc.state.tail import Message
from acc.text.quoting import same_words
from acc.turn.observations import Channel

NOBODY = "nobody said it to all"
FAILED = "the listener failed, and is asked again"


@dataclass
class Why:
    """Why rules and goals are shared, and why what stays private does, one line each; what else went wrong."""

    shared: list[str] = field(default_factory=list)
    private: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


class Choosing:
    """Chooses what of an agent's batch goes to the board, and has it delivered.

    ``marks`` is None if the listener failed; ``to_all`` are messages that go to all, as the caller says.
    """

    def __init__(
        self,
        board: Board,
        delivery: Delivery,
        marks: SharingMarks | None,
        to_all: Sequence[Message],
    ) -> None:
        self._board, self._delivery, self._marks = board, delivery, marks
        self._to_all = {message.ref: message for message in to_all}
        self.why = Why()

    def choose(self, beside: Iterable[LaterWords]) -> None:
        """Choose among what the batch brought, and the words ``beside`` items of the board."""
        delivery = self._delivery
        for slot, item in delivery.batch.brought:
            if not self._board.shares(slot):
                continue
            if isinstance(item, Pinned):
                self._pin(slot, item)
            elif isinstance(item, Record):
                self._record(slot, item)
        for each in filter(self._may_stand, beside):
            delivery.stand_beside(each)
        for message in filter(self._is_open, self._to_all.values()):
            delivery.remember(message)
            self._stays(words_of(message, message.text), "what was said to all is not read yet")

    def _is_open(self, message: Message) -> bool:
        """Whether it has to be remembered that a message was said to all: not all of it was read."""
        is_read = self._marks is not None and self._delivery.batch.is_settled(message.ref)
        return not is_read and not self._delivery.is_to_all(message.ref)

    def _pin(self, slot: SlotField, item: Pinned) -> None:
        """Choose a rule or goal with what may go along, unless the board had it before."""
        delivery, words = self._delivery, said_last(item)
        held = held_on(delivery.state, slot, item)
        if held is not None:
            if delivery.is_news(item.words) and not is_earlier(item.words, held.words):
                delivery.stand_beside(LaterWords(slot, held, item.words, "again"))
            return
        if not delivery.is_news(words):
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
        delivery.bring(slot.name, item.model_copy(update=update))
        self.why.shared.append(f"{_named(words)} is shared: {reason}")

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
        if self._marks is None:
            return "", FAILED
        if self._marks.is_private(words):
            return "", "the listener calls it private"
        if to := self._marks.to(words):
            return f'the user says "{to[:80]}"', ""
        is_to_all = words.ref in self._to_all or self._delivery.is_to_all(words.ref)
        if is_to_all and words.channel is Channel.USER:
            return "it was said to all", ""
        if self._allows(slot, item, words):
            return "the board's filter allows it", ""
        return "", NOBODY

    def _stays(self, words: Words, why: str) -> None:
        self.why.private.append(f"{_named(words)} stays private: {why}")

    def _may_stand(self, each: LaterWords) -> bool:
        """Whether words about an item of the board may be read by all.

        Words that end it may, whomever they were said to, if a second reading agrees.
        """
        if not each.words.ref:
            return True
        if not self._delivery.is_news(each.words) or not self._board.shares(each.slot):
            return False
        reason, why = self._judged(each.slot, each.item, each.words)
        if reason or each.kind == "done" or (each.is_over and why == NOBODY):
            return True
        self._stays(each.words, f"about {each.item.id} of the board, and {why}")
        return False

    def _record(self, slot: SlotField, item: Record) -> None:
        """Choose a fact or question, in the agent's own words."""
        why = FAILED
        if self._marks is not None:
            is_there = self._delivery.has_item(item.id)
            why = self._marks.why_private(item.sources, is_there=is_there)
        if not why and self._board.allow is not None and not self._allows(slot, item, None):
            why = "the board's filter does not allow it"
        if why:
            self.why.private.append(f'{item.id} "{item.text_of[:80]}" stays private: {why}')
        else:
            self._delivery.tell(slot.name, item)

    def _allows(self, slot: SlotField, item: Item, words: Words | None) -> bool:
        if self._board.allow is None:
            return False
        asked = Shareable(slot.name, item, words, self._delivery.batch.thread)
        try:
            return self._board.allow(asked) is True
        except Exception as error:  # anybody's function
            self.why.warnings.append(f"the board's filter failed: {type(error).__name__}")
            return False


def _named(words: Words) -> str:
    return f'{words.ref} "{words.text[:80]}"'


def held_on(board: CompressedCognitiveState, slot: SlotField, item: Pinned) -> Pinned | None:
    """Return the item of a board that says the same as an agent's, in the words of somebody as trusted."""
    if getattr(item, "offer", None) is not None:
        return None
    same = (
        held
        for held in getattr(board, slot.name, ())
        if same_words(held.words.text, item.words.text) and held.words.trust >= item.words.trust
    )
    return next(same, None)
