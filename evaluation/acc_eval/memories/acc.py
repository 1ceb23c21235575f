"""ACC as an evaluated memory: state and tail, and gated evidence for a question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any, cast

from acc.artifacts.recall import Recall
from acc.commit.commit import Commit
from acc.compress.compressor import ModelCompressor
from acc.compress.judge import ModelJudge
from acc.driving import perform
from acc.errors import ConfigurationError
from acc.gate import Candidate, qualify
from acc.journal import StoredMessage, ThreadKey
from acc.journal.names import MAIN
from acc.models.endpoints import as_model
from acc.models.protocol import ChatModel
from acc.models.recorded import RecordedModel, RecordingModel
from acc.state.items import Goal, Pinned
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Cadence, Gate, Lifting, Policy, Style
from acc.state.proposal import Mode
from acc.state.render import render, shown
from acc.state.tail import Message, labelled, messages_of, recalled
from acc.step.step import Memory, stepping
from acc.step.update import KEYLESS, WITH_A_MODEL, Options, memory_of
from acc.text.tokens import utf8_quarter
from acc.turn.observations import Channel
from acc.turn.turn import UNDATED, Turn, dated, normalize
from acc_eval.memories.protocol import HeldItem, Reading, imported

DEFAULT_GATE = Gate()


class ThreadRecall:
    """Recall by words over the messages of one thread, as the library does it without a store."""

    def __init__(self) -> None:
        self._rows: list[StoredMessage] = []
        self._recall = Recall(None)

    def add(self, message: Message) -> None:
        """Append a message."""
        self._rows.append(StoredMessage(message, MAIN, len(self._rows)))

    def recall(self, question: str) -> list[Candidate]:
        """Return passages, the best first."""
        thread = ThreadKey("evaluated")
        return self._recall.recall(
            thread,
            question,
            lambda: reversed(self._rows),
            lambda seqs: [self._rows[n] for n in seqs],
        )


class AccMemory:
    """State and tail, committed once per completed turn.

    Attributes:
        state: The last committed state.
        commits: All commits.
        failures: Failed compressions, each with its turn.
        usage: The model's requests and tokens for the turns so far.
        journal: All messages so far.
    """

    has_slots = True

    def __init__(
        self, memory: Memory[CompressedCognitiveState], *, gate: Gate | None = DEFAULT_GATE
    ) -> None:
        """Create a memory; ``gate`` None shows no evidence for a question."""
        self._memory = memory
        self._gate = gate
        self._index = ThreadRecall()
        self._tail: tuple[Message, ...] = ()
        self.journal: list[Message] = []
        self.state: CompressedCognitiveState = self._policy.schema.empty()
        self.commits: list[Commit[CompressedCognitiveState]] = []
        self.failures: list[str] = []
        self.usage: Counter[str] = Counter()

    @property
    def _policy(self) -> Policy:
        return self._memory.policy

    @property
    def max_tokens(self) -> int:
        """The token limit of the rendered state, without the tail."""
        return self._policy.max_tokens

    @property
    def tail(self) -> tuple[Message, ...]:
        """The messages that the agent reads word for word."""
        return tuple(m for m in self._tail if m.status != "provisional")

    def observe(self, turn: Turn) -> None:
        """Commit the completed turn."""
        numbered = normalize(dated(turn, UNDATED), "eval").numbered(self.state.turn + 1)
        undated = numbered.model_copy(update={"at": "" if numbered.at == UNDATED else numbered.at})
        step = perform(stepping(self._memory, self.state, undated, texts=self._tail))
        self.state, self._tail = step.state, step.tail
        self.commits += step.commits
        for message in messages_of(undated):
            self.journal.append(message)
            self._index.add(message)
        spent = step.usage
        self.usage.update(
            requests=spent.requests, input=spent.input, output=spent.output, cached=spent.cached
        )
        if step.failure:
            self.failures.append(f"turn {undated.number}: {step.failure}")

    def held(self) -> Reading:
        """State and tail."""
        return self._reading("")

    def read(self, question: str) -> Reading:
        """State and tail, and evidence for ``question``. Nothing is committed."""
        return self._reading(question)

    def close(self) -> None:
        """Nothing to release."""

    def _reading(self, question: str) -> Reading:
        state = render(self.state, self._policy.style)
        shown_tail = self.tail
        tail = [labelled(message, self._policy) for message in shown_tail]
        read = "\n".join((state, *tail))
        evidence: list[str] = []
        if question and self._gate is not None:
            refs = frozenset(message.ref for message in shown_tail)
            found, _ = qualify(self._index.recall(question), question, read, refs, self._gate)
            evidence = list(recalled(found))
        items = (*_held(self.state), *(HeldItem(text) for text in (*tail, *evidence)))
        parts = {
            "state": utf8_quarter(state),
            "tail": utf8_quarter("\n".join(tail)),
            "evidence": utf8_quarter("\n".join(evidence)),
        }
        text = "\n".join(part for part in (state, *tail, *evidence) if part)
        verbatim = frozenset(message.turn for message in shown_tail)
        return Reading(text, items, parts, verbatim)


def _held(state: CompressedCognitiveState) -> Iterator[HeldItem]:
    for slot, item in state.items():
        later = (
            frozenset(w.turn for w in item.later) if isinstance(item, Pinned) else frozenset[int]()
        )
        done = item.done if isinstance(item, Goal) else None
        is_open = done is None or done.channel is Channel.AGENT  # a mark; the goal stands
        yield HeldItem(shown(item), slot=slot.name, is_open=is_open, later=later)


@cache
def _recorded(file: str) -> RecordedModel:
    return RecordedModel(file, repeat=True)


def make_acc(
    *,
    asked: Any = None,
    model: str = "",
    answers: str = "",
    record: str = "",
    compressor: str = "",
    mode: Mode = "revise",
    schema: str = "",
    max_tokens: int = 0,
    compress_over: int = -1,
    lifting: Lifting = "judge",
    style: Style = "lines",
    evidence: bool = True,
) -> AccMemory:
    """Create a memory for a specification.

    Args:
        asked: The evaluation's model, which compresses and judges unless one of the next options says otherwise.
        model: A model that compresses and judges.
        answers: A file of recorded answers instead of a model. A second memory of the same file goes on in it where
            the first one stopped, as when several conversations were recorded in one file.
        record: Keep the model's answers in this file.
        compressor: ``rules`` for the keyless rules, or ``module:factory`` of a compressor.
        mode: How the model writes.
        schema: The state's class as ``module:Class``; by default the generic one.
        max_tokens: Bound of the state; 0 for that of `acc.step.update`.
        compress_over: Tokens of unread messages over which they are compressed; -1 for the same defaults.
        lifting: How rules end.
        style: The notation that the agent reads.
        evidence: Whether a question is read with gated evidence.

    Raises:
        ConfigurationError: An option is invalid, or the model cannot be reached.
    """
    chosen = _model(asked, model, answers, record, compressor)
    bound, usual = KEYLESS if chosen is None else WITH_A_MODEL
    state: Any = imported(schema) if schema else CompressedCognitiveState
    cadence = usual if compress_over < 0 else Cadence(compress_over=compress_over)
    policy = Policy(
        schema=state, max_tokens=max_tokens or bound, lifting=lifting, style=style, cadence=cadence
    )
    own: Any = imported(compressor)() if ":" in compressor else None
    judge = ModelJudge(chosen) if chosen is not None else None
    if chosen is not None:
        own = ModelCompressor(chosen, mode=mode)
    options = Options(model=own, judge=judge, policy=policy)
    return AccMemory(memory_of(options), gate=DEFAULT_GATE if evidence else None)


def _model(asked: Any, model: str, answers: str, record: str, compressor: str) -> ChatModel | None:
    if compressor and (model or answers):
        raise ConfigurationError(
            "both a compressor and a model", where="acc", hint="remove one of the two options"
        )
    if compressor:
        return None
    if answers:
        chosen: ChatModel | None = _recorded(answers)
    else:
        chosen = as_model(model) if model else cast("ChatModel | None", asked)
    return RecordingModel(chosen, record) if record and chosen is not None else chosen
