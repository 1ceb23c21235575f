"""Recall of one user's evidence in a store of many, against Chroma's own filtered query.

    python benchmarks/wide_recall.py [--artifacts 100000] [--users 100] [--json]

Each user has a shelf of documents of the same size; a query is filtered by user. Chroma's own is
``collection.query(where={"thread_id": ...})`` over the same texts and vectors. Measured twice: with
the hashed vectors that every store has, and with dense vectors beside them. The dense embedder stands
in for a model: a fixed random direction for each word, summed. The time that it takes for a query is
in ACC's figures alone, since Chroma is given the vector.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from acc.recall.candidates import WideScope
from acc.recall.dense import Dense
from acc.stores.chroma.store import ChromaArtifactStore
from acc.stores.directory import namespace
from acc.stores.embedding import embed
from acc.stores.protocol import Artifact, Thread, artifact_id
from acc.stores.shelf import documents_written
from acc.turn.observations import Channel

_HEADS = ("ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu")
_TAILS = ("rdan", "stel", "mick", "lorn", "pash", "vent", "grub", "sild", "tham", "kest")
_WORDS = [head + tail for head in _HEADS for tail in _TAILS]


def text(rng: random.Random) -> str:
    """Some twenty words, the frequent ones frequent."""
    return " ".join(
        _WORDS[min(int(rng.paretovariate(0.7)) - 1, len(_WORDS) - 1)] for _ in range(20)
    )


def fill(store: ChromaArtifactStore, users: list[Thread], each: int, rng: random.Random) -> None:
    """Give each user a shelf of ``each`` documents."""
    for user in users:
        store.add("default", [_document(user, seq, text(rng)) for seq in range(1, each + 1)])


def _document(user: Thread, seq: int, words: str) -> Artifact:
    return Artifact(
        id=artifact_id(user.key, "documents", seq), thread=user.key, branch="documents", seq=seq,
        turn=0, kind="document", ref=f"doc.{seq}", channel=Channel.DOCUMENT, text=words,
    )  # fmt: skip


class Directions:
    """A deterministic local embedder: a text is the sum of its words' random directions."""

    name = "random directions"

    def __init__(self, dimension: int) -> None:
        rng = np.random.default_rng(7)
        self._of = dict(zip(_WORDS, rng.normal(size=(len(_WORDS), dimension)), strict=True))

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        found = [sum(self._of[word] for word in text.split()) for text in texts]
        return [(vector / np.linalg.norm(vector)).tolist() for vector in found]


def keep_dense(store: ChromaArtifactStore, ids: list[str], dense: Directions) -> Any:
    """Keep dense vectors as ACC does, and in a collection of Chroma's own; the latter."""
    own = store._connection.client.create_collection(
        "dense-of-its-own",
        embedding_function=None,
        configuration={"hnsw": {"space": "cosine", "ef_search": 200}},
    )
    for start in range(0, len(ids), 1_000):
        artifacts = store.get("default", ids[start : start + 1_000])
        vectors = np.asarray(dense([a.text for a in artifacts]), np.float32)
        rows = {a.id: vector.tobytes() for a, vector in zip(artifacts, vectors, strict=True)}
        store.keep_dense("default", f"{dense.name}:{vectors.shape[1]}", rows)
        own.add(
            ids=[a.id for a in artifacts],
            embeddings=list(vectors),
            documents=[a.text for a in artifacts],
            metadatas=[{"thread_id": a.thread} for a in artifacts],
        )
    return own


def timed(act: Callable[[], Any]) -> float:
    """Milliseconds that ``act`` takes."""
    start = time.perf_counter()
    act()
    return 1000 * (time.perf_counter() - start)


class Way(NamedTuple):
    """One kind of vectors.

    Attributes:
        scope: Makes ACC's wider scope of a user.
        collection: Chroma's collection of the same vectors.
        embed: Makes the vector that Chroma is asked with.
    """

    scope: Callable[[Thread], WideScope]
    collection: Any
    embed: Callable[[str], Sequence[float]]


def compared(
    store: ChromaArtifactStore, way: Way, people: list[Thread], repeats: int, rng: random.Random
) -> dict[str, Any]:
    """Medians in milliseconds."""
    ours: list[float] = []
    theirs: list[float] = []
    cold: list[float] = []
    elsewhere = Thread(thread="a conversation that has said nothing yet")
    for person in people:
        scope = way.scope(person)
        cold.append(timed(partial(scope.recalled, "bardan", 16, 16, elsewhere)))
        for _ in range(repeats):
            query = text(rng)
            store.revision += 1  # as if something had been written since: it looks for more
            documents_written(store)
            ours.append(timed(partial(scope.recalled, query, 16, 16, elsewhere)))
            asked = partial(
                way.collection.query, query_embeddings=[way.embed(query)], n_results=16,
                where={"thread_id": person.key}, include=["documents"],
            )  # fmt: skip
            theirs.append(timed(asked))
    return {
        "queries": len(ours), "ms": round(statistics.median(ours), 2),
        "p95_ms": round(sorted(ours)[-len(ours) // 20], 2),
        "chroma_ms": round(statistics.median(theirs), 2),
        "ratio": round(statistics.median(ours) / statistics.median(theirs), 3),
        "first_query_ms": round(statistics.median(cold), 1),
    }  # fmt: skip


def measured(
    artifacts: int, users: int, repeats: int, dimension: int, folder: Path
) -> dict[str, Any]:
    """What is reported of both kinds of vectors."""
    rng = random.Random(7)
    each = artifacts // users
    people = [namespace(user=f"user {number}") for number in range(users)]
    store = ChromaArtifactStore.embedded(folder)
    fill(store, people, each, rng)
    dense = Directions(dimension)
    ids = [artifact_id(p.key, "documents", seq) for p in people for seq in range(1, each + 1)]
    own = keep_dense(store, ids, dense)
    ways = {
        "hashed": Way(
            partial(WideScope, store),
            store._collections.existing("default"),
            lambda query: embed(query).tolist(),
        ),
        "dense": Way(
            partial(WideScope, store, dense=Dense(dense)), own, lambda query: dense([query])[0]
        ),
    }
    chosen = rng.sample(people, min(8, users))
    found = {name: compared(store, way, chosen, repeats, rng) for name, way in ways.items()}
    store.close()
    return {"artifacts": artifacts, "of the user": each, "dimension": dimension, **found}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--artifacts", type=int, default=100_000)
    parser.add_argument("--users", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--dimension", type=int, default=384, help="of the dense vectors")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measured(
            options.artifacts, options.users, options.repeats, options.dimension, Path(folder)
        )
    if options.json:
        print(json.dumps(found, indent=2))
        return
    for name, value in found.items():
        for key, number in value.items() if isinstance(value, dict) else ((name, value),):
            label = key if key == name else f"{name} {key}"
            print(f"{label:>22}  {number}")


if __name__ == "__main__":
    main()
