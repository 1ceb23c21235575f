"""Full-text search over a whole namespace, for a person who asks: ``acc search``.

The store's own index names the records that hold a word of the query. The `RANKED` best of them, weighed by
how rare their words are, are read and ranked by BM25. Memory and time grow with the records that match, not
with the store. Turns do not use this: `acc.recall.candidates` recalls for them without the store's index.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from heapq import nlargest
from typing import NamedTuple

from acc.recall.candidates import Found, WordCounts
from acc.recall.vector_index import KINDS
from acc.state.model import ROOT
from acc.stores.directory import document_spaces
from acc.stores.embedding import cut_words
from acc.stores.protocol import SearchableStore, Thread
from acc.text.ranking import WORD, Weights, rarity
from acc.thread.branch import OVERTAKEN

RANKED = 1_000
"""Maximum number of records that one search reads and ranks."""


class Matches(NamedTuple):
    """What a search found.

    Attributes:
        found: The best records with scores relative to the best one, best first.
        matching: Number of records that hold a word of the query.
    """

    found: Found
    matching: int


def search(
    store: SearchableStore, spaces: Mapping[Thread, Sequence[Thread]], query: str, most: int
) -> Matches:
    """Return the best ``most`` records of threads, and of the documents that their namespaces may see.

    ``spaces`` are namespaces of one tenant with their threads, at least one namespace.
    Searches the main branches. A record matches if it holds the first letters of a word of the query, in any
    case; function words do not count.

    Raises:
        StoreError: The store cannot be read.
    """
    tenant = next(iter(spaces)).tenant
    logs = {f"{seen.key}.documents" for space in spaces for seen in document_spaces(space)}
    logs |= {f"{thread.key}.{ROOT}" for threads in spaces.values() for thread in threads}
    holding = [
        [id_ for id_ in store.containing(tenant, word) if id_.rpartition(":")[0] in logs]
        for word in _words(query)
    ]
    matching = len({id_ for ids in holding for id_ in ids})
    weights: dict[str, float] = defaultdict(float)
    for ids in holding:
        weight = rarity(Weights(), matching, len(ids))
        for id_ in ids:
            weights[id_] += weight
    best = nlargest(RANKED, weights, key=lambda id_: (weights[id_], id_))
    read = store.get(tenant, best)
    records = [a for a in read if a.kind in KINDS and a.reason not in OVERTAKEN]
    scores = WordCounts(RANKED).bm25(query, records)
    order = sorted(range(len(records)), key=lambda at: (scores[at], records[at].at), reverse=True)
    ranked = [(records[at], float(scores[at] / scores[order[0]])) for at in order if scores[at] > 0]
    return Matches(ranked[:most], matching)


def _words(query: str) -> list[str]:
    """Return the first letters of each word of the query, which its other forms share, and the words."""
    cut = cut_words(query)
    whole = [word for word in WORD.findall(query.lower()) if any(map(word.startswith, cut))]
    return list(dict.fromkeys([*cut, *whole]))
