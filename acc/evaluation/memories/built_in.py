"""The factories of the built-in memories.

Some factories take the evaluation's model as ``endpoint``. A memory with a model or a keyless
method in its own options ignores it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal, cast, get_args

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
from acc.state.policy import Lifting, Policy
from acc.state.proposal import Mode
from acc.state.render import Style
from acc.stores.in_memory import InMemoryStore
from acc.stores.protocol import ArtifactStore
from acc.turn.turn import Turn

THREAD = "evaluated"


class ControlledMemory:
    """The Compressed Cognitive State, committed once per completed turn.

    Attributes:
        failures: Failed compressions, each with its turn.
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
        """Create a memory.

        Args:
            compressor: Makes the proposals; None for the keyless rules.
            settings: Schema, limits, recall, gate.
            store: Creates the store of the evidence.
            conditioning: What an agent reads for a question: ``step`` for the state after a step on
                the question (the paper's Algorithm 1), ``state`` for the last committed state
                (section 3.3).
        """
        self._memory = MemoryController(store(), compressor, settings or Settings())
        self._policy = self._memory.settings.policy
        self._conditioning = conditioning
        self._state: CompressedCognitiveState = self._policy.schema.empty()
        self.failures: list[str] = []

    @property
    def max_tokens(self) -> int:
        """The token limit of the rendered state."""
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
        """The state after a step on ``question``.

        The step creates a branch that no later turn continues.
        """
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
    lifting: str = "confirm",
) -> ControlledMemory:
    """Create an ACC memory.

    Args:
        endpoint: The model that compresses, unless ``compressor`` or ``model`` is given.
        compressor: ``rules``, or ``module:factory`` of a factory without arguments.
        model: A model that compresses, by name (`acc.compress.model`).
        mode: ``revise`` or ``rewrite``; for models.
        schema: ``module:Class`` of the state.
        max_tokens: Limit of the rendered state; the schema's own by default.
        style: ``toon`` or ``predicates``.
        recall: Maximum number of candidates; 0 disables recall.
        conditioning: ``step`` or ``state``; see `ControlledMemory`.
        lifting: ``confirm`` or ``accept``; see `acc.state.policy.Policy`.

    Raises:
        ConfigurationError: An option is invalid.
    """
    _check_whole(max_tokens=max_tokens, recall=recall)
    _check("style", style, ("toon", "predicates"))
    _check("mode", mode, ("revise", "rewrite"))
    _check("conditioning", conditioning, ("step", "state"))
    _check("lifting", lifting, get_args(Lifting))
    state: Any = imported(schema) if schema else CompressedCognitiveState
    policy = Policy(
        schema=state,
        max_tokens=max_tokens,
        style=cast(Style, style),
        lifting=cast(Lifting, lifting),
    )
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
    """Create a rolling summary.

    Args:
        endpoint: The model that summarises, unless ``summariser`` or ``model`` is given.
        tokens: Token limit of the summary.
        summariser: ``extractive`` to use no model.
        model: A model that summarises, by name.

    Raises:
        ConfigurationError: An option is invalid.
    """
    _check_whole(tokens=tokens)
    _check("summariser", summariser, ("", "extractive"))
    if model:
        endpoint = endpoint_named(model)
    if endpoint is None or summariser:
        return RollingSummary(tokens)
    # The memory limits the summary. The answer needs room for the JSON around it.
    ask = partial(asked_text, endpoint, limit=2 * tokens + 256)
    return RollingSummary(tokens, summarise=by_model(ask))


def make_retrieval(k: int = 5, *, index: str = "bm25") -> Retrieval:
    """Create a retrieval memory.

    Args:
        k: Maximum number of artifacts. The paper says five (5.5.1) and three (Figure 5, section 6).
        index: ``bm25`` in memory, or ``chroma``.

    Raises:
        ConfigurationError: The index is unknown, or ``k`` is below 1.
    """
    _check_whole(k=k)
    _check("index", index, ("bm25", "chroma"))
    found: Index = Bm25Index()
    if index == "chroma":
        from acc.evaluation.memories.retrieval import ChromaIndex

        found = ChromaIndex()
    return Retrieval(k, index=found)


def make_semantic(*, index: str = "chroma") -> Retrieval:
    """Create the tutorial's semantic memory, which retrieves the nearest artifact."""
    return make_retrieval(1, index=index)


def make_recent(*, tokens: int = 800) -> RecentWindow:
    """Create a memory of the most recent messages."""
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
"""The built-in memories, by name."""

WITH_MODEL = ("acc", "summary")
"""Memories that take the evaluation's model as ``endpoint``."""


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
