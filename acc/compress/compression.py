"""One compression by a model, without I/O: builds the requests and evaluates the replies."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Generator, Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

from pydantic import ValidationError

from acc.compress import second_reading
from acc.compress.answers import NoJson, json_in
from acc.compress.endpoint import Ask, Call, CallFailed, Endpoint, Ledger, Message, Reply
from acc.compress.judging import Fault, fault_in
from acc.compress.prompt import Prompt, Reading
from acc.compress.protocol import wire_schema
from acc.errors import CompressionError, ConfigurationError
from acc.logs import log_event
from acc.state.declaration import RESERVED
from acc.state.model import CompressedCognitiveState
from acc.state.proposal import WORTH_REPAIRING, Account, Mode, Outcome, Proposal
from acc.text.wording import is_assent
from acc.turn.excerpt import cut_texts, cut_turn
from acc.turn.observations import Channel, Observation, storable
from acc.turn.turn import Turn

_LOG = logging.getLogger(__name__)


def size(reading: Reading) -> int:
    """Return the total characters of a reading's sources."""
    return sum(len(source.text) for source in _sources(reading.turn, reading.evidence))


def within_budget(reading: Reading, limit: int) -> Reading:
    """Cut the sources of ``reading`` to at most ``limit`` characters in total; short sources stay whole.

    Three fifths go to the turn, speech first, one fifth to the evidence and one fifth to unread sources.
    """
    if size(reading) <= limit:
        return reading
    turn = reading.turn
    about = [*(item.words for _, item in reading.state.items()), turn.user_words]
    # `cut_turn` gives speech up to 2/5 of ``limit``, tools and documents what speech leaves of it (at
    # least 1/10), and the previous reply 1/10.
    cut = cut_turn(turn, about, 2 * limit // 5)
    pending = cut_texts(turn.pending, about, limit // 5)
    evidence = cut_texts(reading.evidence, about, limit // 5)
    return reading._replace(turn=cut.model_copy(update={"pending": pending}), evidence=evidence)


def left_out(whole: Reading, cut: Reading) -> dict[str, int]:
    """Return the characters of each source, by ref, that ``cut`` lacks compared to ``whole``."""
    pairs = zip(_sources(whole.turn, whole.evidence), _sources(cut.turn, cut.evidence), strict=True)
    return {
        was.ref: now.left_out - was.left_out for was, now in pairs if now.left_out > was.left_out
    }


def _sources(turn: Turn, evidence: Sequence[Observation]) -> Iterable[Observation]:
    return chain(turn.readable, evidence)


LONGEST_COURTESY = 60
"""Maximum characters of an observation that counts as a courtesy."""

_USERS = (
    r"(?:many |much )?thanks(?: a lot| so much| again| a million| very much)?|thank you(?: so much| very much| again)?|"
    r"thx|ty|cheers|much appreciated|appreciate it|hi|hello|hey|good (?:morning|afternoon|evening|night)|"
    r"bye|goodbye|see you(?: later| tomorrow)?|have a (?:good|nice|great) (?:day|evening|weekend|one)|"
    r"you too|lol|haha"
)
_AGENTS = (
    r"(?:you(?:'|’)re|you are) (?:very |most )?welcome|my pleasure|any ?time|no problem|glad (?:i could|to) help|"
    r"happy to help|hi|hello|hey|good (?:morning|afternoon|evening|night)|bye|goodbye|see you(?: later| tomorrow)?|"
    r"have a (?:good|nice|great) (?:day|evening|weekend|one)|you too"
)
_BETWEEN = r"[\s.,!;:)\-–—🙂😊👋🙏]*"
_COURTESIES = {
    channel: re.compile(rf"{_BETWEEN}(?:(?:{said})\b{_BETWEEN})+", re.I)
    for channel, said in ((Channel.USER, _USERS), (Channel.AGENT, _AGENTS))
}


def is_idle(turn: Turn) -> bool:
    """Whether ``turn`` has only courtesies of user and agent, and nothing is pending."""
    has_user = any(o.channel is Channel.USER for o in turn.observations)
    return has_user and not turn.pending and all(map(_is_courtesy, turn.observations))


def _is_courtesy(said: Observation) -> bool:
    pattern = _COURTESIES.get(said.channel)
    if pattern is None or said.is_call or said.left_out or len(said.text) > LONGEST_COURTESY:
        return False
    return pattern.fullmatch(said.text.strip()) is not None and not is_assent(said.text)


_TOO_MUCH = (Outcome.CONTEXT_OVERFLOW, Outcome.TOO_LARGE)
_UNREADABLE = (Outcome.INVALID_JSON, Outcome.WRONG_SHAPE, Outcome.EMPTY)
_LONGEST_SHOWN = 4_000


class Judged(NamedTuple):
    """A reply that was read: its proposal and its fault."""

    proposal: Proposal | None
    fault: Fault | None


class Compression:
    """One compression in progress: the first call, one repair, one smaller input on overflow, and one second reading
    of doubtful retirements.

    ``limits`` are tokens of the answer and characters of the sources. With ``strict`` the answer's schema
    requires every property.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        reading: Reading,
        prompt: Prompt,
        limits: tuple[int, int],
        strict: bool,
    ) -> None:
        self.ledger = Ledger()
        self._endpoint = endpoint
        self._whole = reading
        self._prompt = prompt
        self._limit, self._most = limits
        self._schema = _sent_schema(reading.policy.schema, reading.mode, strict)
        self._is_smaller = False
        self._messages = self._prompted(self._most)

    def steps(self) -> Generator[Call, Reply, Proposal]:
        """Yield calls, receive each `Reply` or `CallFailed`, and return the proposal.

        Raises:
            CompressionError: No usable proposal came out.
            ConfigurationError: No call can succeed with this configuration.
        """
        best: Judged | None = None
        while True:
            try:
                reply = yield from self._endpoint.steps(
                    Ask(self._messages, self._schema, self._limit)
                )
            except CallFailed as failure:
                if failure.outcome in _TOO_MUCH and self._made_smaller():
                    continue
                if failure.outcome not in WORTH_REPAIRING:
                    best = self._best(best, Fault(failure.outcome, failure.detail), failure)
                    return (yield from self._settled(best))
                reply = _reported(failure)
            judged = self._judged(reply)
            fault = judged.fault
            if fault is None:
                outcome = Outcome.OK if best is None else Outcome.REPAIRED
                return (yield from self._settled(judged, outcome))
            self.ledger.judged(fault.outcome)
            if best is not None or fault.outcome not in WORTH_REPAIRING:
                best = self._best(judged if judged.proposal else best, fault)
                return (yield from self._settled(best))
            best = judged
            self._ask_again(reply, fault)

    def _prompted(self, budget: int) -> tuple[Message, ...]:
        cut = within_budget(self._whole, budget)
        self._budget = min(budget, size(cut))
        self.ledger.left_out = left_out(self._whole, cut)
        given = self._prompt(cut)
        messages = _messages(given)
        if not messages:
            raise ConfigurationError(
                f"the prompt returned {str(given)[:80]!r} instead of messages",
                where="ModelSettings.prompt",
                hint="return a list of acc.compress.endpoint.Message(role, text), with the stable part first",
            )
        self._instruction = messages[0].text
        return messages

    def _made_smaller(self) -> bool:
        """Halve the input, at most once."""
        if self._is_smaller:
            return False
        self._is_smaller = True
        self._messages = self._prompted(self._budget // 2)
        return True

    def _judged(self, reply: Reply) -> Judged:
        if reply.outcome is not Outcome.OK:
            return Judged(None, Fault(reply.outcome, reply.detail or _SAID[reply.outcome]))
        if not reply.text.strip():
            return Judged(None, Fault(Outcome.EMPTY, _SAID[Outcome.EMPTY]))
        schema, mode = self._whole.policy.schema, self._whole.mode
        try:
            value = json_in(reply.text, (*schema.slots(), *RESERVED))
            proposal = Proposal.from_wire(value, schema, mode=mode, author=self._endpoint.model)
        except NoJson as error:
            return Judged(None, Fault(Outcome.INVALID_JSON, f"no JSON: {error}"))
        except (CompressionError, ValidationError) as error:
            return Judged(None, Fault(Outcome.WRONG_SHAPE, str(error)[:400]))
        fault = fault_in(proposal, self._whole, self._instruction)
        usable = fault is None or fault.outcome in (Outcome.RULE_REFUSED, Outcome.RULE_MISSED)
        return Judged(proposal if usable else None, fault)

    def _ask_again(self, reply: Reply, fault: Fault) -> None:
        """Append the reply and its fault to the messages: the single repair."""
        if fault.outcome is Outcome.TRUNCATED:
            self._limit *= 2
        log_event(
            _LOG, logging.INFO, "model_repair", "a model is asked to correct its answer",
            outcome=fault.outcome, model=self._endpoint.model,
        )  # fmt: skip
        said = storable(reply.text[:_LONGEST_SHOWN]).strip() or "(nothing)"
        reason = f"That cannot be used: {fault.outcome.value}: {fault.detail}."
        again = "Reply again with the whole JSON object, corrected, and nothing else."
        schema = json.dumps(self._schema, ensure_ascii=False)
        is_unreadable = fault.outcome in _UNREADABLE
        shape = f"\nIt has to fit this JSON Schema:\n{schema}" if is_unreadable else ""
        asked = (Message("assistant", said), Message("user", f"{reason} {again}{shape}"))
        self._messages = (*self._messages, *asked)

    def _best(self, best: Judged | None, fault: Fault, cause: CallFailed | None = None) -> Judged:
        """Return a proposal whose only fault is a refused or missed rule, or raise."""
        if best is not None and best.proposal is not None and best.fault is not None:
            return best
        account = self.account(fault.outcome)
        raise CompressionError(
            f"{fault.outcome.value}: {fault.detail}", where=self._endpoint.model,
            outcome=fault.outcome, usage=self.ledger.usage, account=account,
        ) from cause  # fmt: skip

    def _settled(
        self, judged: Judged, outcome: Outcome | None = None
    ) -> Generator[Call, Reply, Proposal]:
        """Return the proposal with the second reading of its doubts, and what all of it cost."""
        if judged.proposal is None:
            raise AssertionError("unreachable: only a proposal is settled on")
        outcome = outcome or (judged.fault.outcome if judged.fault else Outcome.OK)
        confirmed: tuple[str, ...] = ()
        found = second_reading.doubts(judged.proposal, self._whole)
        if sum(len(text) for doubt in found for text in doubt.said) > self._most:
            self._not_read_again(len(found), Outcome.TOO_LARGE)
        elif found:
            try:
                reply = yield from self._endpoint.steps(second_reading.request(found, self._limit))
                confirmed = second_reading.confirmed(reply, found)
            except CallFailed as failure:  # the agent asks the user
                self._not_read_again(len(found), failure.outcome)
            except ConfigurationError:
                self._not_read_again(len(found), Outcome.BAD_REQUEST)
        costs = {"usage": dict(self.ledger.usage), "account": self.account(outcome)}
        return judged.proposal.model_copy(update={"confirmed": confirmed, **costs})

    def _not_read_again(self, count: int, outcome: Outcome) -> None:
        log_event(
            _LOG, logging.INFO, "doubts_kept", "doubtful liftings get no second reading",
            count=count, outcome=outcome, model=self._endpoint.model,
        )  # fmt: skip

    def account(self, outcome: Outcome) -> Account:
        """Return the current account."""
        version = getattr(self._prompt, "version", type(self._prompt).__name__)
        return self.ledger.account(outcome, model=self._endpoint.model, prompt=str(version))


def _reported(failure: CallFailed) -> Reply:
    """Turn an endpoint's error into a reply, because the model's output in it may be valid."""
    is_read = failure.outcome is Outcome.INVALID_JSON and failure.said.strip()
    outcome = Outcome.OK if is_read else failure.outcome
    return Reply(failure.said, None, outcome, failure.detail)


def _messages(given: object) -> tuple[Message, ...]:
    """Return a prompt's messages; empty if the prompt returned anything else."""
    if isinstance(given, str | Message) or not isinstance(given, Iterable):
        return ()
    found = tuple(given)
    return found if all(isinstance(message, Message) for message in found) else ()


@lru_cache(maxsize=64)
def _sent_schema(
    schema: type[CompressedCognitiveState], mode: Mode, strict: bool
) -> dict[str, Any]:
    return _bare(wire_schema(schema, mode, strict=strict))


def _bare(schema: dict[str, Any]) -> dict[str, Any]:
    """Remove titles and descriptions, which the prompt already contains."""
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "properties":
            kept[key] = {name: _bare(field) for name, field in value.items()}
        elif key == "items":
            kept[key] = _bare(value)
        elif key not in ("title", "description"):
            kept[key] = value
    return kept


_SAID = {
    Outcome.REFUSAL: "the model refused",
    Outcome.CONTENT_FILTER: "the provider's content filter stopped the reply",
    Outcome.TRUNCATED: "the reply was cut off at its bound; be brief",
    Outcome.EMPTY: "the reply is empty",
}
