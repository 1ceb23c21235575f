"""Dense embedders for `acc.evidence.dense.Dense`: any callable of texts does as well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from acc.errors import ConfigurationError, StoreError
from acc.evidence.dense import Embedder

_BATCH = 256
_CHARS = 8_000
_SECONDS = 20.0
"""A turn waits for it: an endpoint that is down must not hold the agent up."""


def openai_embedder(model: str = "text-embedding-3-small", client: Any = None) -> Embedder:
    """OpenAI's embeddings, or those of a server that speaks like it.

    Args:
        model: The model's name.
        client: An `openai.OpenAI`; by default one of OPENAI_BASE_URL and OPENAI_API_KEY that waits 20
            seconds at the most.

    Raises:
        ConfigurationError: No key is set.
    """
    import openai

    try:
        speaking = client if client is not None else openai.OpenAI(timeout=_SECONDS, max_retries=1)
    except openai.OpenAIError as error:
        raise ConfigurationError(
            str(error), where="openai_embedder", mend="set OPENAI_API_KEY, or pass a client"
        ) from error

    def embed(texts: Sequence[str]) -> list[list[float]]:
        found: list[list[float]] = []
        # An empty text is refused there; a space is not.
        asked = [text[:_CHARS] or " " for text in texts]
        for start in range(0, len(asked), _BATCH):
            try:
                reply = speaking.embeddings.create(model=model, input=asked[start : start + _BATCH])
            except openai.OpenAIError as error:
                raise StoreError(
                    f"texts cannot be embedded: {type(error).__name__}: {error}"[:300],
                    where=model,
                    mend="look at the endpoint and its key, or recall without a dense embedder",
                ) from error
            found.extend(row.embedding for row in sorted(reply.data, key=lambda row: row.index))
        return found

    embed.name = f"openai:{model}"  # type: ignore[attr-defined]
    return embed


def sentence_transformer(model: str, **settings: Any) -> Embedder:
    """A model of sentence-transformers: the extra ``dense``. A folder's path needs no network.

    Raises:
        ConfigurationError: It is not installed, or there is no such model.
    """
    try:
        import sentence_transformers
    except ImportError as error:
        raise ConfigurationError(
            "sentence-transformers is not installed",
            where="sentence_transformer",
            mend="pip install 'agent-cognitive-compressor[dense]'",
        ) from error
    try:
        loaded = sentence_transformers.SentenceTransformer(model, **settings)
    except Exception as error:  # the hub, the disk, torch: each raises its own
        raise ConfigurationError(
            f"the model does not load: {type(error).__name__}: {error}"[:300],
            where=model,
            mend="name a folder that holds it, or a model that can be fetched",
        ) from error

    def embed(texts: Sequence[str]) -> list[list[float]]:
        return [list(map(float, row)) for row in loaded.encode(list(texts))]

    embed.name = f"sentence-transformers:{model}"  # type: ignore[attr-defined]
    return embed
