"""Recall of one user's evidence in a store of many, against Chroma's own filtered query.

    python benchmarks/wide_recall.py [--artifacts 100000] [--users 100] [--json]

Each user has a shelf of documents of the same size; a query is filtered by user. Chroma's own
is ``collection.query(where={"thread_id": ...})`` over the same records and vectors.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from acc.evidence.shelf import namespace
from acc.evidence.wide import WideScope
from acc.store import Artifact, Thread, artifact_id
from acc.stores.chroma import ChromaArtifactStore
from acc.stores.embedding import embed
from acc.turn import Channel

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


def timed(act: Callable[[], Any]) -> float:
    """Milliseconds that ``act`` takes."""
    start = time.perf_counter()
    act()
    return 1000 * (time.perf_counter() - start)


def measured(artifacts: int, users: int, repeats: int, folder: Path) -> dict[str, Any]:
    """Medians in milliseconds."""
    rng = random.Random(7)
    people = [namespace(user=f"user {number}") for number in range(users)]
    store = ChromaArtifactStore.embedded(folder)
    fill(store, people, artifacts // users, rng)
    collection = store._collections.existing("default")
    assert collection is not None
    ours: list[float] = []
    theirs: list[float] = []
    cold: list[float] = []
    for person in rng.sample(people, min(8, users)):
        scope = WideScope(store, person)
        cold.append(timed(partial(scope.search, "bardan", 16)))
        for _ in range(repeats):
            query = text(rng)
            store.revision += 1  # as if something had been written since: it looks for more
            ours.append(timed(partial(scope.search, query, 16)))
            vector: Any = [embed(query).tolist()]
            asked = partial(
                collection.query, query_embeddings=vector, n_results=16,
                where={"thread_id": person.key}, include=["documents"],
            )  # fmt: skip
            theirs.append(timed(asked))
    store.close()
    return {
        "artifacts": artifacts, "of the user": artifacts // users, "queries": len(ours),
        "ms": round(statistics.median(ours), 2), "p95_ms": round(sorted(ours)[-len(ours) // 20], 2),
        "chroma_ms": round(statistics.median(theirs), 2),
        "ratio": round(statistics.median(ours) / statistics.median(theirs), 3),
        "first_query_ms": round(statistics.median(cold), 1),
    }  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--artifacts", type=int, default=100_000)
    parser.add_argument("--users", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measured(options.artifacts, options.users, options.repeats, Path(folder))
    if options.json:
        print(json.dumps(found, indent=2))
        return
    for name, value in found.items():
        print(f"{name:>16}  {value}")


if __name__ == "__main__":
    main()
