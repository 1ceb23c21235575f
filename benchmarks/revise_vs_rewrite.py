"""`revise` against `rewrite`: what a model reads and writes, and what survives a model that errs.

    python benchmarks/revise_vs_rewrite.py [--turns 50 200 1000] [FILE ...]

Tokens are UTF-8 bytes / 4, of a model without errors: its output on the wire, the prompt as
`acc.compress.prompt` renders it, and the share of the prompt that a provider's cache has read
before, in blocks of 128 (`acc.testing.model_server`).

Survival is that of a model which misses 5 % of what it is to add, and makes, for every twenty
retirements and updates that are due, one that is not: of the facts and rules that were committed
once and still hold, the share that stands in the state; the mean of the last fifty turns, over
seeds. A spurious retirement of a rule invents its quote; in ``pinned_quoted`` it quotes what the
user did say, about something else. Nothing is mended: the model insists. ``lifted`` is the
share of the rules that the user lifted, and that were committed, which stand no longer. ``found``
is the survival of all that was said, missed additions included. In a rewrite, what is carried on is
written anew; ``rewrite, carrying`` never misses any of that, ``rewrite`` misses 5 % of it too.
All of it fits the bounds: nothing is evicted.

Beside it, of the conversations in FILE (the example by default), the idle turns: see idle_turns.py.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from idle_turns import EXAMPLE, idle
from simulated_model import Key, Model, World

from acc.commit.commit import commit
from acc.compress.prompt import CompressorPrompt, Reading
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Mode, Proposal
from acc.testing.model_server import PromptCache
from acc.text.tokens import utf8_quarter

ERRS = 0.05
LAST = 50


def costs(mode: Mode, turns: int) -> dict[str, Any]:
    """Mean tokens a turn of a model without errors, and the cached share of what it reads."""
    rng, policy, prompt, cache = random.Random(1), Policy(), CompressorPrompt(), PromptCache()
    model, world = Model(mode, rng), World(rng)
    state: CompressedCognitiveState = CompressedCognitiveState.empty()
    wrote = read = cached = evicted = 0
    for said in world.turns(turns):
        messages = prompt(Reading(said.turn, state, (), policy, mode))
        asked = "\n".join(f"{message.role}: {message.text}" for message in messages)
        read += utf8_quarter(asked)
        cached += cache.read("model", asked)
        wire = model.wire(said, state)
        wrote += utf8_quarter(json.dumps(wire, ensure_ascii=False, separators=(",", ":")))
        done = commit(state, _proposed(wire, mode), said.turn, (), policy)
        state, evicted = done.state, evicted + len(done.evicted)
    return {
        "output": round(wrote / turns), "prompt": round(read / turns),
        "cached_share": round(cached / read, 3), "evicted": evicted,
    }  # fmt: skip


def survival(mode: Mode, turns: int, forget: float, seeds: Sequence[int]) -> dict[str, float]:
    """Shares that stand at the end, with a model that errs."""
    found = [_survived(mode, turns, forget, seed) for seed in seeds]
    quoted = [_survived(mode, turns, forget, seed, quotes=True) for seed in seeds]
    means = {name: round(statistics.mean(f[name] for f in found), 3) for name in found[0]}
    lifted = min(f["lifted"] for f in (*found, *quoted))
    pinned = statistics.mean(f["pinned"] for f in quoted)
    return {**means, "pinned_quoted": round(pinned, 3), "lifted": round(lifted, 3)}


def _proposed(wire: dict[str, Any], mode: Mode) -> Proposal:
    return Proposal.from_wire(wire, CompressedCognitiveState, mode=mode)


def _survived(
    mode: Mode, turns: int, forget: float, seed: int, *, quotes: bool = False
) -> dict[str, float]:
    policy, world = Policy(), World(random.Random(seed))
    model = Model(mode, random.Random(seed + 1_000), ERRS, ERRS, forget, quotes)
    state: CompressedCognitiveState = CompressedCognitiveState.empty()
    once: set[Key | str] = set()
    counts = {"pinned": [0, 0], "rest": [0, 0], "found": [0, 0], "lifted": [0, 0]}
    for said in world.turns(turns):
        state = commit(state, model.proposal(said, state), said.turn, (), policy).state
        facts = {(r.subject, r.predicate): r.object for r in state.relational_map}
        rules = {rule.text for rule in state.constraints}
        if said.lifted in once:
            _count(counts["lifted"], [said.lifted], {said.lifted} - rules)
        once |= {*facts, *rules}
        if said.turn.number <= turns - LAST:
            continue
        true = list(world.facts.items())
        stand = {key for key, value in true if facts.get(key) == value}
        _count(counts["rest"], [key for key, _ in true if key in once], stand)
        _count(counts["found"], [key for key, _ in true], stand)
        _count(counts["pinned"], [rule for rule in world.rules if rule in once], rules)
    return {name: held / of if of else 1.0 for name, (held, of) in counts.items()}


def _count(counts: list[int], of: Sequence[Key | str], stand: Any) -> None:
    counts[0] += sum(each in stand for each in of)
    counts[1] += len(of)


def compared(turns: int, seeds: Sequence[int]) -> dict[str, Any]:
    """Both modes over ``turns``."""
    revise, rewrite = costs("revise", turns), costs("rewrite", turns)
    return {
        "turns": turns,
        "revise": {**revise, **survival("revise", turns, 0.0, seeds)},
        "rewrite, carrying": {**rewrite, **survival("rewrite", turns, 0.0, seeds)},
        "rewrite": {**rewrite, **survival("rewrite", turns, ERRS, seeds)},
        "output_ratio": round(revise["output"] / rewrite["output"], 3),
    }


def main() -> None:
    """Print a table, or JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path, default=[EXAMPLE], metavar="FILE")
    parser.add_argument("--turns", nargs="+", type=int, default=[50, 200, 1_000])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    runs = [compared(turns, range(options.seeds)) for turns in options.turns]
    idles = [idle(file) for file in options.files]
    if options.json:
        print(json.dumps({"runs": runs, "idle": idles}))
        return
    names = (
        "output",
        "prompt",
        "cached_share",
        "evicted",
        "pinned",
        "pinned_quoted",
        "lifted",
        "rest",
        "found",
    )
    print("| turns | mode | " + " | ".join(names) + " |\n|" + " --- |" * (len(names) + 2))
    for run in runs:
        for mode in ("revise", "rewrite, carrying", "rewrite"):
            print(
                f"| {run['turns']:,} | {mode} | "
                + " | ".join(str(run[mode][n]) for n in names)
                + " |"
            )
    for run in runs:
        print(f"output of revise / rewrite at {run['turns']:,} turns: {run['output_ratio']}")
    for each in idles:
        print(
            f"{each['file']}: {each['skipped']} of {each['turns']} turns idle; lost: {each['lost'] or 'nothing'}"
        )


if __name__ == "__main__":
    main()
