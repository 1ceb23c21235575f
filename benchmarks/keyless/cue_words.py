"""What lists of cue words alone would hold: how hard a conversation is for a keyless compressor.

    python benchmarks/keyless/cue_words.py SCENARIO...

Every sentence of the user's with a word of a list is a rule, and none is ever lifted. Beside them what the
user says in the last ten turns holds, as a window over the transcript would.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator, Mapping

from dataset import scenarios

from acc.evaluation.ground_truth import Matcher
from acc.evaluation.probe_results import Count
from acc.evaluation.scenarios import Scenario
from acc.keyless.sentences import sentences
from acc.keyless.words import one_of

LISTS: Mapping[str, str] = {
    "broad": """must, only, until, till, please, keep, never, always, no, not, \\w+n't, should,
        needs?, at most, max, maximum, limit, without, before, unless, first, avoid, make sure,
        have to, has to, cannot, stays?, hold, under, over, every, any, nothing, nobody, stick,
        leave, let's""",
    "strict": "must, never, always, don't, do not, make sure, only, at most, no more than",
}  # fmt: skip
LAST = 10
"""Turns of the window."""

MOST = 200
"""Sentences of a message."""


def chosen(scenario: Scenario) -> Iterator[tuple[str, list[str]]]:
    """For each list, and the window, the sentences that it would hold."""
    said = [[s.text for s in sentences(turn.user, MOST)] for turn in scenario.script]
    for name, words in LISTS.items():
        cue = re.compile(r"\b" + one_of(words), re.I)
        yield name, [text for turn in said for text in turn if cue.search(text)]
    yield f"last {LAST} turns", [text for turn in said[-LAST:] for text in turn]


def held(scenario: Scenario, texts: Iterable[str], active: bool) -> Count:
    """How many of the rules that stand at the end, or that were lifted, these texts have."""
    last, matcher = len(scenario.turns), Matcher(scenario.truth)
    found = {entry for text in texts for entry in matcher.found(text).entries}
    ended = [c.retired is not None and c.retired <= last for c in scenario.truth.constraints]
    meant = [
        c.id for c, over in zip(scenario.truth.constraints, ended, strict=True) if over != active
    ]
    return Count(sum(name in found for name in meant), len(meant))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "scenarios", nargs="+", help="of the data (held, held/film), files, or shipped"
    )
    found = scenarios(*parser.parse_args().scenarios)
    print("| list | active | retired | sentences for each rule |\n| --- | --- | --- | --- |")
    for name in (*LISTS, f"last {LAST} turns"):
        texts = [dict(chosen(scenario))[name] for scenario in found]
        pairs = list(zip(found, texts, strict=True))
        active, retired = ([held(s, t, kind) for s, t in pairs] for kind in (True, False))
        rules = sum(count.of for count in (*active, *retired))
        shares = (
            sum(c.hits for c in cs) / max(1, sum(c.of for c in cs)) for cs in (active, retired)
        )
        many = sum(map(len, texts)) / max(1, rules)
        print(f"| {name} | {' | '.join(f'{share:.2f}' for share in shares)} | {many:.1f} |")


if __name__ == "__main__":
    main()
