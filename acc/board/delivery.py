"""What of an agent's turn goes to a board: sentences that somebody said to all. Unclear means private.

Each message that goes there is a whole sentence of one speaker, with channel, name and time kept. The proposal over
them is committed with the same laws as any: each quote has to stand in what went there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from acc.board.board import SharedStep, State, To
from acc.board.listening import Hearing, LaterWords, is_earlier
from acc.board.writing import Batch, Desk, Known
from acc.commit.commit import Commit, Given, commit
from acc.commit.endings import said_last
from acc.commit.sources import words_of
from acc.driving import Doing, Io
from acc.journal import Latest
from acc.journal.boards import Origin
from acc.state.items import Rule, Words
from acc.state.proposal import Proposal, ProposedLater, ProposedPin
from acc.state.reading import claim_digest
from acc.state.render import shown
from acc.state.tail import Message
from acc.step.result import Step
from acc.text.quoting import same_words
from acc.turn.observations import Channel, Observation

SAID_TO_ALL = "(says something to all)"
"""Stands for a message that was said to all and is not read yet: its own words stay where they are."""

NOBODY = "nobody said it to all"


class Delivery:
    """Chooses what one turn of an agent brings to a board, and makes the messages and the proposal that bring it.

    Args:
        batch: What the agent's commits brought.
        heard: What a listener said of it.
        to_all: Those of its messages that go there as the caller says.
        state: The board's state.
        known: What the board has already.

    Attributes:
        messages: The board's new messages.
        remembers: Whether one of them says of another that it was said to all.
        shared: Why rules are shared, one line each.
        private: Why what stays private does.
    """

    def __init__(
        self,
        batch: Batch,
        heard: Hearing,
        to_all: Sequence[Message],
        state: State,
        known: Known,
    ) -> None:
        self._batch, self._heard = batch, heard
        self._to_all = {message.ref for message in to_all}
        self._state, self._known = state, known
        self.messages: list[Message] = []
        self.remembers = False
        self.shared: list[str] = []
        self.private: list[str] = []
        self._used: Counter[Channel] = Counter()
        self._refs: dict[tuple[str, str], str] = {}
        self._rules: list[ProposedPin] = []
        self._later: list[ProposedLater] = []
        for rule in batch.brought:
            self._choose(rule)
        for each in filter(self._may_stand, heard.later):
            text, ref = each.words.text, self._said(each.words)
            self._later.append(ProposedLater(each.rule.id, text, ref, each.ends, each.begins))
        for message in filter(self._is_open, to_all):
            self._remember(message)

    def proposal(self) -> Proposal:
        """Return what changes."""
        return Proposal(rules=tuple(self._rules), later=tuple(self._later))

    def _choose(self, rule: Rule) -> None:
        """Choose a rule with what may go along, unless the board had it before."""
        words = said_last(rule)
        held = held_on(self._state, rule)
        if held is not None:
            if self._is_news(rule.words) and not is_earlier(rule.words, held.words):
                self._rules.append(ProposedPin(rule.words.text, self._said(rule.words)))
            return
        if not self._is_news(words):
            return
        reason, why = self._judged(words)
        if reason and rule.offer is not None:
            why = "it agrees to an agent's words, which nobody said to all"
        if why:
            self._stays(words, why)
            return
        later = [w for w in rule.later if w != words and self._goes_along(w, "later")]
        aside = {"about": rule.about, "scope": rule.scope}
        goes = {n: w for n, w in aside.items() if w and self._goes_along(w, n)}
        for each in goes.values():
            self._said(each)
        label, texts = f"new{len(self._rules)}", {name: each.text for name, each in goes.items()}
        self._rules.append(ProposedPin(words.text, self._said(words), label, **texts))
        self._later += [ProposedLater(label, each.text, self._said(each)) for each in later]
        self.shared.append(f"{_named(words)} is shared: {reason}")

    def _goes_along(self, words: Words, name: str) -> bool:
        """Whether words that belong to a shared rule go to the board. If they stay with the agent, it is told."""
        why = self._judged(words)[1]
        if why:
            self._stays(words, f"the {name} of a rule, and {why}")
        return not why

    def _may_stand(self, each: LaterWords) -> bool:
        """Whether words about a rule of the board may be read by all.

        Words that end it may, whomever they were said to, if a second reading agrees.
        """
        if not each.words.ref:
            return True
        if not self._is_news(each.words):
            return False
        reason, why = self._judged(each.words)
        if reason or (each.is_over and why == NOBODY):
            return True
        self._stays(each.words, f"about {each.rule.id} of the board, and {why}")
        return False

    def _judged(self, words: Words) -> tuple[str, str]:
        """Return why words are shared, or else why they are not; one of both is empty."""
        if words.channel is Channel.OPERATOR:
            return "the operator said it", ""
        if words.ref in self._heard.unheard:
            return "", "the listener failed, and is asked again"
        if self._heard.is_private(words):
            return "", "the listener calls it private"
        if to := self._heard.said_to(words):
            return f'the user says "{to[:80]}"', ""
        is_to_all = words.ref in self._to_all or self._known.is_to_all(self._origin(words.ref))
        if is_to_all and words.channel is Channel.USER:
            return "it was said to all", ""
        return "", NOBODY

    def _stays(self, words: Words, why: str) -> None:
        self.private.append(f"{_named(words)} stays private: {why}")

    def _is_open(self, message: Message) -> bool:
        """Whether it has to be remembered that a message was said to all: not all of it was read."""
        is_read = self._batch.is_settled(message.ref) and message.ref not in self._heard.unheard
        return not is_read and not self._known.is_to_all(self._origin(message.ref))

    def _remember(self, message: Message) -> None:
        """Bring that a message was said to all."""
        seen = message.observation.model_copy(update={"text": SAID_TO_ALL})
        self._add(seen, message.at, self._origin(message.ref, is_to_all=True))
        self.remembers = True
        self._stays(words_of(message, message.text), "what was said to all is not read yet")

    def _is_news(self, words: Words) -> bool:
        """Whether words of the agent's thread were not brought before."""
        return not self._known.has(self._origin(words.ref), words.text)

    def _origin(self, ref: str, *, is_to_all: bool = False) -> Origin:
        state = self._batch.state
        return Origin(self._batch.thread, state.branch, state.version, ref, is_to_all)

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
        number, used = self._state.turn + 1, self._used[seen.channel]
        self._used[seen.channel] += 1
        ref = f"{seen.channel.value[0]}{number}" + (f".{used}" if used else "")
        changes = {"ref": ref, "message": origin.mark, "at": at, "call_id": ""}
        self.messages.append(Message(seen.model_copy(update=changes).as_split(), number, at))
        return ref


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


def doubled(own: State, board: State) -> Iterator[str]:
    """Yield the ids of an agent's rules that the board holds with all that stands beside them."""
    for rule in own.constraints:
        held = held_on(board, rule)
        if held is not None:
            texts = {rule.words.text, *(words.text for words in held.later)}
            names = ("about", "scope", "ending")
            is_all = all(getattr(held, n) or not getattr(rule, n) for n in names)
            if is_all and texts.issuperset(words.text for words in rule.later):
                yield rule.id


def tell(desk: Desk, step: Step[Any], batch: Batch, heard: Hearing, to: To) -> Doing[SharedStep]:
    """Tell a board what a step's batch brought, as it was heard; ``to`` says to whom the user spoke."""
    policy, to_all = desk.policy, batch.said if to == "all" else ()
    shared, private, warnings = list[str](), list[str](), list[str]()

    def delivered(state: State, known: Known) -> Commit[Any] | None:
        """Return the commit on a state of the board; None if it would change nothing but times."""
        delivery = Delivery(batch, heard, to_all, state, known)
        messages = tuple(delivery.messages)
        given = Given(messages, state.turn + 1, messages, delivery.proposal())
        done = commit(state, policy, given)
        refused = sorted({f"the board refused: {note}" for note in done.refused})
        shared[:], private[:] = delivery.shared, delivery.private
        warnings[:] = refused
        is_news = delivery.remembers or _standing(state) != _standing(done.state)
        return done if is_news or done.no_room else None

    commits: list[Commit[Any] | None] = []
    latest: Latest[Any] = yield Io(desk.latest)
    if to or batch.read or batch.brought or any(_endings(desk.state_of(latest), "ends")):
        commits.append((yield from desk.write(delivered)))
        latest = yield Io(desk.latest)
    standing = set(map(claim_digest, _endings(desk.state_of(latest), "")))
    if any(each.digest in standing for each in heard.judgements):  # they hold for any newer state
        given = Given(judgements=tuple(heard.judgements))
        judged = yield from desk.write(lambda s, _: commit(s, policy, given))
        commits.append(judged)
        latest = yield Io(desk.latest)
    if heard.failure:
        warnings.append(f"the board: {heard.failure}")
    made = [each for each in commits if each is not None]
    of_board = desk.step(latest, made) if made else None
    why = tuple(shared), tuple(private), tuple(warnings)
    return SharedStep(step, latest, of_board, policy, *why)


def _standing(state: State) -> set[tuple[object, ...]]:
    """Return what agents read of a board, and how far its rules have ended."""
    return {(shown(rule), rule.words.ref, rule.ending) for rule in state.constraints}


def _endings(state: State, verdict: str) -> Iterator[Rule]:
    """Yield the rules that are said to end, with a verdict.

    One that ends, and was shown with the words that end it for a turn, leaves with the next commit.
    """
    for rule in state.constraints:
        if rule.ending is not None and rule.ending.verdict == verdict:
            yield rule
