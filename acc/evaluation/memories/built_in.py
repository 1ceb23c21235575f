"""How the memories that ship are made of their options.

Some take the model that the evaluation hands them, as ``endpoint``; one that names a model, or
a keyless way, in its own options does not use it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal, cast

from acc.compress.asking import asked_text, endpoint_named
from acc.compress.endpoint import Endpoint
from acc.compress.protocol import Compressor
from acc.controller import MemoryController
from acc.errors import ConfigurationError
from acc.evaluation.memories.protocol import EvaluatedMemory, HeldItem, Reading, imported
from acc.evaluation.memories.retrieval import Bm25Index, Index, Retrieval
from acc.evaluation.memories.transcript import (
    RecentWindow,
    RollingSummary,
    TranscriptReplay,
    by_model,
)
from acc.pipeline.session import Settings
from acc.pipeline.turn_pipeline import Step
from acc.recall.candidates import Recall
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Mode
from acc.state.render import Style
from acc.stores.in_memory import InMemoryStore
from acc.stores.protocol import ArtifactStore
from acc.turn.turn import Turn

THREAD = "evaluated"


class ControlledMemory:
    """The Compressed Cognitive State, committed once per completed turn.

    Attributes:
        failures: Compressions that failed, each with the turn.
    """

    has_slots = True

    def __init__(
        self,
        compressor: Compressor | None = None,
        settings: Settings | None = None,
        *,
        store: Callable[[], ArtifactStore] = InMemoryStore,
        conditioning: Literal["step", "state"] = "step",
    ) -> None:
        """Open one.

        Args:
            compressor: Proposes; the keyless rules if None.
            settings: Schema, bounds, recall, gate.
            store: Makes the store of the evidence.
            conditioning: What an agent reads on a question: the state after a step on it (the
                paper's Algorithm 1), or the last committed state as it stands (section 3.3).
        """
        self._memory = MemoryController(store(), compressor, settings or Settings())
        self._policy = self._memory.settings.policy
        self._conditioning = conditioning
        self._state: CompressedCognitiveState = self._policy.schema.empty()
        self.failures: list[str] = []

    @property
    def max_tokens(self) -> int:
        """The bound on the rendered state."""
        return self._policy.max_tokens

    @property
    def state(self) -> CompressedCognitiveState:
        """The last committed state."""
        return self._state

    def observe(self, turn: Turn) -> None:
        """Commit the completed turn."""
        self._state = self._step(turn).state

    def held(self) -> Reading:
        """The committed state."""
        return self._reading(self._state)

    def read(self, question: str) -> Reading:
        """The state as it would be after a step on ``question``; that step leads to a fork of
        the thread which nothing goes on from."""
        if self._conditioning == "state":
            return self.held()
        return self._reading(self._step(Turn.said(question)).state)

    def close(self) -> None:
        """Close the store."""
        self._memory.close()

    def _step(self, turn: Turn) -> Step:
        step = self._memory.step(self._state, turn, thread=THREAD)
        if step.failure:
            self.failures.append(f"turn {step.turn.number}: {step.failure}")
        return step

    def _reading(self, state: CompressedCognitiveState) -> Reading:
        return Reading(self._policy.rendered(state), tuple(_items(state)))


def _items(state: CompressedCognitiveState) -> Iterator[HeldItem]:
    for slot, item in state.items():
        yield HeldItem(
            item.words,
            slot=slot.name,
            is_hypothesis=getattr(item, "status", "") == "hypothesis",
            is_open=item.is_open,
        )


def make_acc(
    *,
    endpoint: Endpoint | None = None,
    compressor: str = "",
    model: str = "",
    mode: str = "revise",
    schema: str = "",
    max_tokens: int = 0,
    style: str = "toon",
    recall: int = 16,
    conditioning: str = "step",
) -> ControlledMemory:
    """ACC.

    Args:
        endpoint: The model that compresses, where neither of the next two is given.
        compressor: ``rules``, or ``module:factory`` of one that takes no argument.
        model: A model that compresses, by name (`acc.compress.choosing`).
        mode: ``revise`` or ``rewrite``; for models.
        schema: ``module:Class`` of the state.
        max_tokens: Bound on the rendered state; the schema's own by default.
        style: ``toon`` or ``predicates``.
        recall: Candidates at the most; 0 recalls nothing.
        conditioning: ``step`` or ``state``; see `ControlledMemory`.

    Raises:
        ConfigurationError: An option that makes no sense.
    """
    _check_whole(max_tokens=max_tokens, recall=recall)
    _check("style", style, ("toon", "predicates"))
    _check("mode", mode, ("revise", "rewrite"))
    _check("conditioning", conditioning, ("step", "state"))
    state: Any = imported(schema) if schema else CompressedCognitiveState
    policy = Policy(schema=state, max_tokens=max_tokens, style=cast(Style, style))
    return ControlledMemory(
        _compressor(compressor, model, cast(Mode, mode), endpoint),
        Settings(policy=policy, recall=Recall(limit=recall)),
        conditioning=cast(Literal["step", "state"], conditioning),
    )


def _compressor(
    compressor: str, model: str, mode: Mode, endpoint: Endpoint | None
) -> Compressor | None:
    if compressor and model:
        raise ConfigurationError("both a compressor and a model", where="acc", hint="give one")
    if compressor == "rules":
        return None
    if compressor:
        made = imported(compressor)()
        return cast(Compressor, made)
    if model:
        endpoint = endpoint_named(model)
    if endpoint is None:
        return None
    from acc.compress.model import ModelCompressor

    return ModelCompressor(endpoint, mode=mode)


def make_summary(
    *,
    endpoint: Endpoint | None = None,
    tokens: int = 1_024,
    summariser: str = "",
    model: str = "",
) -> RollingSummary:
    """A rolling summary.

    Args:
        endpoint: The model that summarises, unless one of the last two is given.
        tokens: Tokens at the most.
        summariser: ``extractive`` for none.
        model: A model that summarises, by name.

    Raises:
        ConfigurationError: An option that makes no sense.
    """
    _check_whole(tokens=tokens)
    _check("summariser", summariser, ("", "extractive"))
    if model:
        endpoint = endpoint_named(model)
    if endpoint is None or summariser:
        return RollingSummary(tokens)
    # A summary is bounded by the memory; the answer gets room for the JSON around it.
    ask = partial(asked_text, endpoint, limit=2 * tokens + 256)
    return RollingSummary(tokens, summarise=by_model(ask))


def make_retrieval(k: int = 5, *, index: str = "bm25") -> Retrieval:
    """Retrieval of the top ``k``.

    Args:
        k: Artifacts at the most. The paper says five (5.5.1) and three (Figure 5, section 6).
        index: ``bm25`` in memory, or ``chroma``.

    Raises:
        ConfigurationError: An unknown index, or ``k`` below 1.
    """
    _check_whole(k=k)
    _check("index", index, ("bm25", "chroma"))
    found: Index = Bm25Index()
    if index == "chroma":
        from acc.evaluation.memories.retrieval import ChromaIndex

        found = ChromaIndex()
    return Retrieval(k, index=found)


def make_semantic(*, index: str = "chroma") -> Retrieval:
    """The tutorial's semantic memory: the one nearest artifact."""
    return make_retrieval(1, index=index)


def make_recent(*, tokens: int = 800) -> RecentWindow:
    """The recent window."""
    _check_whole(tokens=tokens)
    return RecentWindow(tokens)


BUILT_IN: dict[str, Callable[..., EvaluatedMemory]] = {
    "acc": make_acc,
    "transcript": TranscriptReplay,
    "retrieval": make_retrieval,
    "summary": make_summary,
    "semantic": make_semantic,
    "recent": make_recent,
}
"""What ships, by name."""

WITH_MODEL = ("acc", "summary")
"""Those that take the evaluation's model, as ``endpoint``."""


def _check_whole(**options: int) -> None:
    for option, value in options.items():
        if isinstance(value, bool) or not isinstance(value, int):
            raise ConfigurationError(
                f"{option}={value}", where="memory", hint="give a whole number"
            )


def _check(option: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ConfigurationError(
            f"{option}={value}", where="memory", hint=f"give {' or '.join(filter(None, allowed))}"
        )
