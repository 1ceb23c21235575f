"""Dense vectors for the wider scope of recall: computed once per record and persisted in the store.

A namespace's vectors are read by id, once, into one matrix, like the lexical ones. A query therefore embeds
one query text and the records added since the last query. The embedder is an external service and may fail.
Recall then uses BM25 alone and reports the failure through ``on_failure``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from acc.errors import ConfigurationError, StoreError
from acc.stores.embedding import DIMENSION, embed
from acc.stores.protocol import Artifact, ArtifactStore, DenseStore

Vector = NDArray[np.float32]
Vectoriser = Callable[[str], Sequence[float]]
"""Embeds one text. All vectors have the same length."""


class Likeness(Protocol):
    """Similarity of a vector to each row of a matrix; 1 for equal vectors."""

    def __call__(self, vector: Vector, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return one number per row: shapes (d,) and (n, d) give (n,)."""
        ...


def cosine(vector: Vector, rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the cosine with each row; 0 where either vector has length 0."""
    lengths = np.linalg.norm(rows, axis=1) * float(np.linalg.norm(vector))
    products: NDArray[np.float32] = rows @ vector
    found: NDArray[np.float32] = np.zeros_like(products)
    np.divide(products, lengths, out=found, where=lengths > 0)
    return found


def lexical(text: str) -> Sequence[float]:
    """Return the keyless vector of a text (`acc.stores.embedding`); all zeros for a text without terms."""
    vector = embed(text)
    return vector if vector[0] >= 0 else [0.0] * DIMENSION


def texts_alike(one: str, other: str) -> float:
    """Return the cosine of two texts' keyless vectors; 1 for equal texts."""
    if one == other:
        return 1.0
    pair = [np.asarray(lexical(text), np.float32) for text in (one, other)]
    return float(cosine(pair[0], pair[1][None, :])[0])


class Rows:
    """Named vectors of one length, in insertion order."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._matrix: NDArray[np.float32] = np.empty((0, 0), np.float32)

    def __len__(self) -> int:
        return len(self._names)

    def add(self, name: str, vector: Sequence[float] | NDArray[np.float32]) -> None:
        """Append a vector."""
        row = np.asarray(vector, np.float32)
        count = len(self._names)
        if count == len(self._matrix):
            grown = np.zeros((max(16, 2 * count), len(row)), np.float32)
            grown[:count] = self._matrix[:count] if count else 0
            self._matrix = grown
        self._matrix[count] = row
        self._names.append(name)

    def remove(self, names: Collection[str]) -> None:
        """Remove the vectors with these names."""
        kept = [at for at, name in enumerate(self._names) if name not in names]
        self._matrix = self._matrix[kept]
        self._names = [self._names[at] for at in kept]

    @property
    def matrix(self) -> NDArray[np.float32]:
        """The vectors as a matrix of shape (count, length)."""
        return self._matrix[: len(self._names)]

    def best(
        self,
        vector: Sequence[float] | NDArray[np.float32],
        k: int,
        likeness: Likeness,
        keep: Callable[[str], bool] | None = None,
    ) -> list[tuple[str, float]]:
        """Return the ``k`` most similar names that ``keep`` admits, with scores, best first; later vectors win ties."""
        if not self._names or k < 1:
            return []
        return best_of(self._names, likeness(np.asarray(vector, np.float32), self.matrix), k, keep)


def best_of(
    names: Sequence[str],
    scores: NDArray[np.float32],
    k: int,
    keep: Callable[[str], bool] | None = None,
) -> list[tuple[str, float]]:
    """Return the ``k`` names of the highest scores that ``keep`` admits, best first; later names win ties."""
    if keep is not None:
        kept = np.fromiter(map(keep, names), np.bool_, len(names))
        scores = np.where(kept, scores, np.float32(-np.inf))
    most = min(k, len(scores))
    least = np.partition(scores, -most)[-most]
    found = np.flatnonzero(scores >= least)
    ranked = sorted((int(at) for at in found), key=lambda at: (-scores[at], -at))[:most]
    return [(names[at], float(scores[at])) for at in ranked if scores[at] > -np.inf]


Embedder = Callable[[Sequence[str]], Sequence[Sequence[float]]]
"""Embeds several texts; all vectors have the same length."""

_READ = 300
_ASKED = 100


def warned(error: Exception) -> None:
    """Report an embedder's failure as a `RuntimeWarning`."""
    said = f"dense recall is off for this turn: {type(error).__name__}: {error}"
    warnings.warn(said, RuntimeWarning, stacklevel=2)


@dataclass(frozen=True)
class Dense:
    """A dense embedder and its weight relative to BM25.

    Attributes:
        embedder: Embeds texts; receives at most 100 texts per call.
        weight: alpha of the weighted score; 0.5 to 1 measured best.
        name: The model's name, under which the store persists its vectors; the default is the embedder's
            ``name`` attribute. Without a name the vectors stay in the process. Each model needs its own name.
        most: Maximum number of records of a namespace with a dense vector. The first read prefers the newest
            records. Records beyond the limit are found by words only.
        on_failure: Called with the error when the embedder fails.
    """

    embedder: Embedder
    weight: float = 0.7
    name: str = ""
    most: int = 20_000
    on_failure: Callable[[Exception], None] = warned

    @property
    def title(self) -> str:
        """The effective name: ``name``, or the embedder's own."""
        return self.name or str(getattr(self.embedder, "name", ""))

    def asked(self, query: str) -> Vector | None:
        """Return the query's vector, or None if the query is blank or the embedder fails."""
        if not query.strip():
            return None
        try:
            (asked,) = self.vectors([query])
            return asked
        except Exception as error:  # an embedder is foreign code and may raise anything
            self.on_failure(error)
            return None

    def vectors(self, texts: Sequence[str]) -> list[Vector]:
        """Return one unit vector per text; a zero vector stays zero.

        Raises:
            StoreError: The embedder returned something else than one finite vector per text.
                Errors of the embedder pass through.
        """
        found = np.asarray(self.embedder(texts), np.float32)
        if found.ndim != 2 or len(found) != len(texts) or not np.isfinite(found).all():
            raise StoreError(
                f"the embedder returned an array of shape {found.shape} for {len(texts)} texts",
                where=self.title or "embedder",
                hint="return one vector of finite numbers for each text, all of the same length",
            )
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        unit: NDArray[np.float32] = np.divide(
            found, lengths, out=np.zeros_like(found), where=lengths > 0
        )
        return list(unit)


class DenseRows:
    """The dense vectors of a namespace's records; a `DenseStore` persists them if the embedder has a name."""

    def __init__(self, store: ArtifactStore, tenant: str, dense: Dense) -> None:
        self._store = store if isinstance(store, DenseStore) and dense.title else None
        self._tenant = tenant
        self._dense = dense
        self._rows = Rows()
        self._places: dict[str, int] = {}
        self._waiting: list[Artifact] = []

    def see(self, artifacts: Iterable[Artifact]) -> None:
        """Queue records; the next query embeds them. Blank texts are skipped."""
        self._waiting += [a for a in artifacts if a.text.strip()]

    def read(self, asked: Vector) -> bool:
        """Load or compute the vectors of all queued records, with the query's length.

        Returns:
            False if the embedder or the store failed; ``on_failure`` got the error.
        """
        try:
            self._read(f"{self._dense.title}:{len(asked)}", len(asked))
            return True
        except Exception as error:  # an embedder is foreign code and may raise anything
            self._dense.on_failure(error)
            return False

    def best(self, asked: Vector, k: int, keep: Callable[[str], bool] | None) -> list[str]:
        """Return the ids of at most ``k`` records with the highest positive cosine."""
        return [id_ for id_, score in self._rows.best(asked, k, product, keep) if score > 0]

    def scores(self, asked: Vector, ids: Sequence[str]) -> NDArray[np.float64]:
        """Return the cosine of each record with the query; 0 for a record without a vector."""
        places = [self._places.get(id_, -1) for id_ in ids]
        scores = np.zeros(len(ids))
        there = [at for at, place in enumerate(places) if place >= 0]
        if there:
            scores[there] = self._rows.matrix[[places[at] for at in there]] @ asked
        return scores

    def _read(self, embedder: str, length: int) -> None:
        room = max(0, self._dense.most - len(self._rows))
        del self._waiting[: max(0, len(self._waiting) - room)]
        while self._waiting:
            batch = self._waiting[:_READ]
            kept = self._kept(embedder, [a.id for a in batch], length)
            missing = [a for a in batch if a.id not in kept]
            for start in range(0, len(missing), _ASKED):
                kept |= self._made(embedder, missing[start : start + _ASKED])
            for artifact in batch:
                self._places[artifact.id] = len(self._rows)
                self._rows.add(artifact.id, kept[artifact.id])
            self._waiting = self._waiting[_READ:]

    def _kept(self, embedder: str, ids: Sequence[str], length: int) -> dict[str, Vector]:
        raw = self._store.dense(self._tenant, embedder, ids) if self._store is not None else {}
        vectors = {id_: np.frombuffer(data, np.float32) for id_, data in raw.items()}
        return {id_: vector for id_, vector in vectors.items() if len(vector) == length}

    def _made(self, embedder: str, artifacts: Sequence[Artifact]) -> dict[str, Vector]:
        vectors = self._dense.vectors([a.text for a in artifacts])
        made = {a.id: vector for a, vector in zip(artifacts, vectors, strict=True)}
        if self._store is not None:
            data = {id_: vector.tobytes() for id_, vector in made.items()}
            self._store.keep_dense(self._tenant, embedder, data)
        return made


def product(vector: Vector, rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the dot product of ``vector`` with each row."""
    found: NDArray[np.float32] = rows @ vector
    return found


_BATCH = 256
_CHARS = 8_000
_SECONDS = 20.0
"""Timeout. A turn waits for the embedder, so an unreachable endpoint must fail soon."""


def openai_embedder(model: str = "text-embedding-3-small", client: Any = None) -> Embedder:
    """Return an embedder for OpenAI's embeddings or a compatible server.

    Args:
        model: The model's name.
        client: An `openai.OpenAI`. The default client reads OPENAI_BASE_URL and OPENAI_API_KEY,
            times out after 20 seconds and retries once.

    Raises:
        ConfigurationError: No key is set.
    """
    import openai

    try:
        speaking = client if client is not None else openai.OpenAI(timeout=_SECONDS, max_retries=1)
    except openai.OpenAIError as error:
        raise ConfigurationError(
            str(error), where="openai_embedder", hint="set OPENAI_API_KEY, or pass a client"
        ) from error

    def embed(texts: Sequence[str]) -> list[list[float]]:
        found: list[list[float]] = []
        # The endpoint refuses an empty text and accepts a space.
        asked = [text[:_CHARS] or " " for text in texts]
        for start in range(0, len(asked), _BATCH):
            try:
                reply = speaking.embeddings.create(model=model, input=asked[start : start + _BATCH])
            except openai.OpenAIError as error:
                raise StoreError(
                    f"the endpoint cannot embed texts: {type(error).__name__}: {error}"[:300],
                    where=model,
                    hint="check the endpoint and its key, or recall without a dense embedder",
                ) from error
            found.extend(row.embedding for row in sorted(reply.data, key=lambda row: row.index))
        return found

    embed.name = f"openai:{model}"  # type: ignore[attr-defined]
    return embed


def sentence_transformer(model: str, **settings: Any) -> Embedder:
    """Return an embedder for a sentence-transformers model (extra ``dense``). A folder path needs no network.

    Raises:
        ConfigurationError: The package is not installed, or the model does not load.
    """
    try:
        import sentence_transformers
    except ImportError as error:
        raise ConfigurationError(
            "sentence-transformers is not installed",
            where="sentence_transformer",
            hint="pip install 'agent-cognitive-compressor[dense]'",
        ) from error
    try:
        loaded = sentence_transformers.SentenceTransformer(model, **settings)
    except Exception as error:  # the hub, the disk and torch each raise their own errors
        raise ConfigurationError(
            f"the model does not load: {type(error).__name__}: {error}"[:300],
            where=model,
            hint="name a folder that contains the model, or a model that can be downloaded",
        ) from error

    def embed(texts: Sequence[str]) -> list[list[float]]:
        return [list(map(float, row)) for row in loaded.encode(list(texts))]

    embed.name = f"sentence-transformers:{model}"  # type: ignore[attr-defined]
    return embed
