"""How the memories that ship are made of their options.

Some take the model that the evaluation hands them, as ``endpoint``; one that names a model, or
a keyless way, in its own options does not use it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, cast

from acc.compress import Compressor, Mode
from acc.compressors.endpoint import Endpoint
from acc.errors import ConfigurationError
from acc.evaluation.asking import asked_text, endpoint_named
from acc.evaluation.importing import imported
from acc.evaluation.memories.controlled import ControlledMemory
from acc.evaluation.memories.protocol import EvaluatedMemory
from acc.evaluation.memories.retrieval import Bm25Index, Index, Retrieval
from acc.evaluation.memories.summary import RollingSummary, by_model
from acc.evaluation.memories.transcript import RecentWindow, TranscriptReplay
from acc.memory import Settings
from acc.policy import Policy
from acc.recall import Recall
from acc.render import Style
from acc.state import CompressedCognitiveState


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
        model: A model that compresses, by name (`acc.compressors.choosing`).
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
        Settings(policy=policy, recall=Recall(most=recall)),
        conditioning=cast(Literal["step", "state"], conditioning),
    )


def _compressor(
    compressor: str, model: str, mode: Mode, endpoint: Endpoint | None
) -> Compressor | None:
    if compressor and model:
        raise ConfigurationError("both a compressor and a model", where="acc", mend="give one")
    if compressor == "rules":
        return None
    if compressor:
        made = imported(compressor)()
        return cast(Compressor, made)
    if model:
        endpoint = endpoint_named(model)
    if endpoint is None:
        return None
    from acc.compressors.model import ModelCompressor

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
        from acc.evaluation.memories.chroma_index import ChromaIndex

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
                f"{option}={value}", where="memory", mend="give a whole number"
            )


def _check(option: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ConfigurationError(
            f"{option}={value}", where="memory", mend=f"give {' or '.join(filter(None, allowed))}"
        )
