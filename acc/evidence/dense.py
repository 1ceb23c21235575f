"""Dense vectors for the wider scope of recall: made once for each record, and kept in the store.

A namespace's vectors are read by id, once, into one matrix, as the lexical ones are. So a query asks
the embedder for one vector, and for those of what was added since. An embedder is somebody else's
service and may fail: then the words alone decide, and the deployer is told.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from acc.errors import StoreError
from acc.evidence.rows import Rows
from acc.evidence.similarity import Vector
from acc.store import Artifact, ArtifactStore, DenseStore

Embedder = Callable[[Sequence[str]], Sequence[Sequence[float]]]
"""Texts as dense vectors of one length."""

_READ = 300
_ASKED = 100


def warned(error: Exception) -> None:
    """Tell by a Python warning that an embedder failed."""
    said = f"dense recall is off for this turn: {type(error).__name__}: {error}"
    warnings.warn(said, RuntimeWarning, stacklevel=2)


@dataclass(frozen=True)
class Dense:
    """A dense embedder, and how much it counts beside BM25.

    Attributes:
        embedder: Embeds texts; asked for at most 101 at once.
        weight: alpha of the weighted score; 0.5 to 1 measured best.
        name: The model's name, under which the store keeps its vectors; by default the embedder's
            own ``name``. Without one they are kept in the process alone. Another model needs another.
        most: Records of a namespace that have a dense vector at the most, the newest at first; the rest
            are found by words.
        on_failure: Told of an embedder that fails.
    """

    embedder: Embedder
    weight: float = 0.7
    name: str = ""
    most: int = 20_000
    on_failure: Callable[[Exception], None] = warned

    @property
    def title(self) -> str:
        """The name that counts."""
        return self.name or str(getattr(self.embedder, "name", ""))

    def asked(self, query: str) -> Vector | None:
        """The query's vector; None where it has no words, or the embedder fails."""
        if not query.strip():
            return None
        try:
            (asked,) = self.vectors([query])
            return asked
        except Exception as error:  # whatever somebody else's embedder raises
            self.on_failure(error)
            return None

    def vectors(self, texts: Sequence[str]) -> list[Vector]:
        """One vector of length 1 for each text.

        Raises:
            StoreError: What came back is no such vectors; or whatever the embedder raises.
        """
        found = np.asarray(self.embedder(texts), np.float32)
        if found.ndim != 2 or len(found) != len(texts) or not np.isfinite(found).all():
            raise StoreError(
                f"{len(texts)} texts came back as numbers of shape {found.shape}",
                where=self.title or "embedder",
                mend="return one vector of finite numbers for each text, all of one length",
            )
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        unit: NDArray[np.float32] = np.divide(
            found, lengths, out=np.zeros_like(found), where=lengths > 0
        )
        return list(unit)


class DenseRows:
    """The dense vectors of a namespace's records.

    Args:
        store: Keeps them, if it is an `acc.store.DenseStore` and the embedder has a name.
        tenant: The tenant.
        dense: The embedder.
    """

    def __init__(self, store: ArtifactStore, tenant: str, dense: Dense) -> None:
        self._store = store if isinstance(store, DenseStore) and dense.title else None
        self._tenant = tenant
        self._dense = dense
        self._rows = Rows()
        self._places: dict[str, int] = {}
        self._waiting: list[Artifact] = []

    def see(self, artifacts: Iterable[Artifact]) -> None:
        """Records that are to have a vector at the next query."""
        self._waiting += [a for a in artifacts if a.text.strip()]

    def read(self, asked: Vector) -> bool:
        """Have the vectors of all records at hand, of the query's length; False where the embedder fails."""
        try:
            self._read(f"{self._dense.title}:{len(asked)}", len(asked))
            return True
        except Exception as error:  # whatever somebody else's embedder raises
            self._dense.on_failure(error)
            return False

    def best(self, asked: Vector, k: int, keep: Callable[[str], bool] | None) -> list[str]:
        """Ids of the ``k`` records most like the query."""
        return [id_ for id_, score in self._rows.best(asked, k, _product, keep) if score > 0]

    def scores(self, asked: Vector, ids: Sequence[str]) -> NDArray[np.float64]:
        """Cosines of records with the query; 0 for one without a vector."""
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


def _product(vector: Vector, rows: NDArray[np.float32]) -> NDArray[np.float32]:
    found: NDArray[np.float32] = rows @ vector
    return found
