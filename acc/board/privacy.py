"""What of an agent's turn goes to a board: sentences that somebody said to all. Unclear means private.

Each message that goes there is a whole sentence of one speaker, with channel, name and time kept. The proposal over
them is committed with the same laws as any: each quote has to stand in what went there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from acc.board.board import Board, Shareable
from acc.board.listening import Hearing, LaterWords, is_earlier
from acc.board.writing import Batch, Known, State
from acc.commit.endings import said_last
from acc.commit.sources import words_of
from acc.journal.boards import Origin
from acc.state.items import Rule, Words
from acc.state.proposal import Proposal, ProposedLater, ProposedPin
from acc.state.tail import Message
from acc.text.quoting import same_words
from acc.turn.observations import Channel, Observation

SAID_TO_ALL = "(says something to all)"
"""Stands for a message that was said to all and is not read yet: its own words stay where they are."""

NOBODY = "nobody said it to all"


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
        self._rules: list[ProposedPin] = []
        self._later: list[ProposedLater] = []

    def is_news(self, words: Words) -> bool:
        """Whether words of the agent's thread were not brought before."""
        return not self._known.has(self._origin(words.ref), words.text)

    def is_to_all(self, ref: str) -> bool:
        """Whether the board knows that a message of the agent's was said to all."""
        return self._known.is_to_all(self._origin(ref))

    def remember(self, message: Message) -> None:
        """Bring that a message was said to all."""
        seen = message.observation.model_copy(update={"text": SAID_TO_ALL})
        self._add(seen, message.at, self._origin(message.ref, is_to_all=True))
        self.remembers = True

    def bring(self, rule: Rule) -> None:
        """Bring a rule with what belongs to it."""
        for words in filter(None, (rule.about, rule.scope)):
            self._said(words)
        texts = (words.text if words else "" for words in (rule.about, rule.scope))
        label = f"new{len(self._rules)}"
        self._rules.append(ProposedPin(rule.words.text, self._said(rule.words), label, *texts))
        self._later += [ProposedLater(label, words.text, self._said(words)) for words in rule.later]

    def stand_beside(self, each: LaterWords) -> None:
        """Bring words about a rule of the board."""
        text, ref = each.words.text, self._said(each.words)
        self._later.append(ProposedLater(each.rule.id, text, ref, each.ends, each.begins))

    def say_again(self, words: Words) -> None:
        """Bring the words of a rule of the board, which somebody said again."""
        self._rules.append(ProposedPin(words.text, self._said(words)))

    def _origin(self, ref: str, *, is_to_all: bool = False) -> Origin:
        state = self.batch.state
        return Origin(self.batch.thread, state.branch, state.version, ref, is_to_all)

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
        return Proposal(rules=tuple(self._rules), later=tuple(self._later))


@dataclass
class Why:
    """Why rules are shared, and why what stays private does, one line each; what else went wrong."""

    shared: list[str] = field(default_factory=list)
    private: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


class Choosing:
    """Chooses what of an agent's batch goes to the board; ``to_all`` are those that go there as the caller says."""

    def __init__(
        self, board: Board, delivery: Delivery, heard: Hearing, to_all: Sequence[Message]
    ) -> None:
        self._board, self._delivery, self._heard = board, delivery, heard
        self._to_all = {message.ref: message for message in to_all}
        self.why = Why()

    def choose(self) -> None:
        """Choose among what the batch brought, and the words beside rules of the board."""
        delivery = self._delivery
        for rule in delivery.batch.brought:
            self._bring(rule)
        for each in filter(self._may_stand, self._heard.later):
            delivery.stand_beside(each)
        for message in filter(self._is_open, self._to_all.values()):
            delivery.remember(message)
            self._stays(words_of(message, message.text), "what was said to all is not read yet")

    def _is_open(self, message: Message) -> bool:
        """Whether it has to be remembered that a message was said to all: not all of it was read."""
        is_settled = self._delivery.batch.is_settled(message.ref)
        is_read = is_settled and message.ref not in self._heard.unheard
        return not is_read and not self._delivery.is_to_all(message.ref)

    def _bring(self, rule: Rule) -> None:
        """Choose a rule with what may go along, unless the board had it before."""
        delivery, words = self._delivery, said_last(rule)
        held = held_on(delivery.state, rule)
        if held is not None:
            if delivery.is_news(rule.words) and not is_earlier(rule.words, held.words):
                delivery.say_again(rule.words)
            return
        if not delivery.is_news(words):
            return
        reason, why = self._judged(rule, words)
        if reason and rule.offer is not None:
            why = "it agrees to an agent's words, which nobody said to all"
        if why:
            self._stays(words, why)
            return
        later = tuple(w for w in rule.later if w != words and not self._is_kept(rule, w, "later"))
        update: dict[str, object] = {"words": words, "later": later, "ending": None}
        for name in ("about", "scope"):
            aside: Words | None = getattr(rule, name)
            if aside and self._is_kept(rule, aside, name):
                update[name] = None
        delivery.bring(rule.model_copy(update=update))
        self.why.shared.append(f"{_named(words)} is shared: {reason}")

    def _is_kept(self, rule: Rule, words: Words, name: str) -> bool:
        """Whether words that belong to a shared rule stay with the agent. It is told."""
        why = self._judged(rule, words)[1]
        if why:
            self._stays(words, f"the {name} of a rule, and {why}")
        return bool(why)

    def _judged(self, rule: Rule, words: Words) -> tuple[str, str]:
        """Return why words are shared, or else why they are not; one of both is empty."""
        if words.channel is Channel.OPERATOR:
            return "the operator said it", ""
        if words.ref in self._heard.unheard:
            return "", "the listener failed, and is asked again"
        if self._heard.is_private(words):
            return "", "the listener calls it private"
        if to := self._heard.said_to(words):
            return f'the user says "{to[:80]}"', ""
        is_to_all = words.ref in self._to_all or self._delivery.is_to_all(words.ref)
        if is_to_all and words.channel is Channel.USER:
            return "it was said to all", ""
        if self._allows(rule, words):
            return "the board's filter allows it", ""
        return "", NOBODY

    def _stays(self, words: Words, why: str) -> None:
        self.why.private.append(f"{_named(words)} stays private: {why}")

    def _may_stand(self, each: LaterWords) -> bool:
        """Whether words about a rule of the board may be read by all.

        Words that end it may, whomever they were said to, if a second reading agrees.
        """
        if not each.words.ref:
            return True
        if not self._delivery.is_news(each.words):
            return False
        reason, why = self._judged(each.rule, each.words)
        if reason or (each.is_over and why == NOBODY):
            return True
        self._stays(each.words, f"about {each.rule.id} of the board, and {why}")
        return False

    def _allows(self, rule: Rule, words: Words) -> bool:
        if self._board.allow is None:
            return False
        try:
            return self._board.allow(Shareable(rule, words, self._delivery.batch.thread)) is True
        except Exception as error:  # anybody's function
            self.why.warnings.append(f"the board's filter failed: {type(error).__name__}")
            return False


def _named(words: Words) -> str:
    return f'{words.ref} "{words.text[:80]}"'


def held_on(board: State, rule: Rule) -> Rule | None:
    """Return the rule of a board that says the same as an agent's, in the words of somebody as trusted."""
    if rule.offer is not None:
        return None
    same = (
        held
        for held in board.constraints
        if same_words(held.words.text, rule.words.text) and held.words.trust >= rule.words.trust
    )
    return next(same, None)
