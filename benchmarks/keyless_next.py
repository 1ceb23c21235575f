"""What the keyless compressor of the third design holds of labelled conversations, beside the one before.

    python benchmarks/keyless_next.py [held plain shared ...] [--setting NAME ...] [--each]

A set is a split of ``benchmarks/data`` (``held`` is the test part; ``plain`` and ``open`` were read while thresholds
were chosen), a conversation of one (``held/film``), or a file. Scores are taken as in ``acc eval probe``, once
after the last turn and once as the mean over the last ten turns. A rule in the tail counts as held. A false rule is
one that matches no rule of the ground truth.

    python benchmarks/keyless_next.py --pack

trains the worth of sentences on ``sentence_worth`` and the facts of the ``open`` conversations, and packs it with the
acts and liftings that ``acc/keyless`` holds (`train_acts.py`, `train_convolution.py`, `train_lifting.py`) into
``acc/next/keyless/weights.npz``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent / "keyless"))

from dataset import read, scenarios
from softmax import fit

from acc.evaluation.ground_truth import Matcher
from acc.evaluation.memories.next import NextMemory
from acc.evaluation.memories.protocol import EvaluatedMemory
from acc.evaluation.memories.specs import make_acc
from acc.evaluation.probe import probe_scenario
from acc.evaluation.probe_results import Count, ScenarioResult, pooled
from acc.evaluation.scenarios import Scenario
from acc.next.keyless.compressor import compress
from acc.next.keyless.judge import judge
from acc.next.keyless.values import GRADES, worth_features
from acc.next.keyless.words import clauses, plain
from acc.next.state.model import CompressedCognitiveState
from acc.next.state.policy import Policy
from acc.next.step import Cadence, Memory
from acc.next.text.sentences import sentences
from acc.turn.observations import Channel

SHOWN = {
    "constraints_kept": "rules",
    "constraints_retired_held": "ended, held",
    "constraints_retired_unmarked": "without words",
    "goals_kept": "goals",
    "facts_current": "facts",
    "facts_stale": "stale",
    "poison_privileged": "poison",
    "constraints_false": "look-alikes",
}
LAST = 10

OLD = Path(__file__).parents[1] / "acc" / "keyless"
WEIGHTS = Path(__file__).parents[1] / "acc" / "next" / "keyless" / "weights.npz"
KEPT_FEATURES, COARSER = 40_000, 8
"""Features of the acts that are kept, those of the greatest weights, and the factor by which weights are coarser."""


def next_memory(state: int, over: int) -> Callable[[], EvaluatedMemory]:
    """Return a factory of the keyless memory with a state of ``state`` tokens, compressed over ``over``."""
    policy: Policy = Policy(max_tokens=state)
    memory: Memory[CompressedCognitiveState] = Memory(
        compress, judge, None, policy, Cadence(compress_over=over)
    )
    return lambda: NextMemory(memory, gate=None)


SETTINGS: dict[str, Callable[[], EvaluatedMemory]] = {
    "next 800, each turn": next_memory(800, 0),
    "next 800, over 800": next_memory(800, 800),
    "next 1100, over 800": next_memory(1_100, 800),
    "next 1100, each turn": next_memory(1_100, 0),
    "next 1300, each turn": next_memory(1_300, 0),
    "next 1700, each turn": next_memory(1_700, 0),
    "acc 800": lambda: make_acc(max_tokens=800),
    "acc 1500": lambda: make_acc(max_tokens=1_500),
}


class Kept:
    """A memory that stays at hand after its scenario, to look at its rules."""

    def __init__(self, make: Callable[[], EvaluatedMemory]) -> None:
        self._make = make
        self.last: EvaluatedMemory | None = None

    def __call__(self) -> EvaluatedMemory:
        """Create the memory."""
        self.last = self._make()
        return self.last


def row(name: str, found: Sequence[Scenario], *, each: bool = False) -> Iterator[str]:
    """Yield a line of the table: hits and opportunities after the last turn, and the means of the last ten."""
    results: list[ScenarioResult] = []
    false = 0
    for scenario in found:
        make = Kept(SETTINGS[name])
        results.append(probe_scenario(make, scenario, label=name))
        if results[-1].failures:
            raise SystemExit(f"{scenario.id}: {results[-1].failures[0]}")
        false += _false_rules(make.last, scenario)
        if each:
            yield _line(f"{name}: {scenario.id}", results[-1:], _false_rules(make.last, scenario))
    yield _line(name, results, false / max(1, len(found)))


def _false_rules(memory: EvaluatedMemory | None, scenario: Scenario) -> int:
    items = memory.held().items if memory else ()
    matcher, known = Matcher(scenario.truth), {rule.id for rule in scenario.truth.constraints}
    rules = [item.text for item in items if item.slot == "constraints"]
    return sum(not matcher.found(text).entries & known for text in rules)


def _line(name: str, results: Sequence[ScenarioResult], false: float) -> str:
    end = pooled(result.turns[-1].counts for result in results)
    last = pooled(turn.counts for result in results for turn in result.turns[-LAST:])
    reads = mean(mean(turn.tokens for turn in result.turns) for result in results)
    cells = [_cell(end.get(key), last.get(key)) for key in SHOWN]
    return f"| {name} | {' | '.join(cells)} | {false:.2f} | {reads:,.0f} |"


def _cell(end: Count | None, last: Count | None) -> str:
    if end is None or last is None:
        return "-"
    return f"{end.hits}/{end.of}, {last.rate or 0:.2f}"


def examples() -> Iterator[tuple[str, int]]:
    """Yield sentences and clauses with their grade of worth, 0 to 2."""
    for scenario in scenarios("open"):
        matcher, facts = Matcher(scenario.truth), {fact.id: fact for fact in scenario.truth.facts}
        for number, turn in enumerate(scenario.turns, 1):
            texts = [
                o.text for o in turn.observations if o.channel in (Channel.USER, Channel.AGENT)
            ]
            for text in (each.text for message in texts for each in sentences(message)):
                for part in _parts(text):
                    found = matcher.found(part).entries & facts.keys()
                    yield part, 2 * any(facts[key].is_active(number) for key in found)
    for _, case in read("sentence_worth"):
        for turn in case["turns"]:
            said = zip(turn["user"], turn["user_keep"], strict=True)
            answered = zip(turn["reply"], turn["keep"], strict=True)
            for text, grade in (*said, *answered):
                yield from ((part, grade) for part in _parts(text))


def _parts(text: str) -> Iterator[str]:
    words = plain(" ".join(text.split()))
    return iter(dict.fromkeys([words, *clauses(words)]))


def pack() -> None:
    """Write the weights of the new compressor."""
    out: dict[str, NDArray[Any] | np.generic] = {}
    old = np.load(OLD / "acts.npz")
    weights = old["weights"].astype(int)
    strongest = np.argsort(-np.abs(weights).max(axis=1), kind="stable")[:KEPT_FEATURES]
    rows = sorted(strongest, key=lambda row: int(old["keys"][row]))
    out["acts.keys"] = old["keys"][rows]
    out["acts.weights"] = np.round(weights[rows] / COARSER).astype(np.int8)
    out["acts.scale"] = np.float64(float(old["scale"]) * COARSER)
    out |= {f"network.{name}": array for name, array in _network().items()}
    lifting = np.load(OLD / "lifting.npz")
    out |= {f"lifting.{name}": lifting[name] for name in lifting.files}
    told = list(examples())
    model = fit(
        [worth_features(text) for text, _ in told], [grade for _, grade in told], len(GRADES)
    )
    names = sorted(model.rows, key=lambda name: crc32(name.encode()))
    worth = np.stack([model.weights[model.rows[name]] for name in names])
    scale = np.abs(worth).max() / 127
    out["worth.keys"] = np.array([crc32(name.encode()) for name in names], np.uint32)
    out["worth.weights"] = np.round(worth / scale).astype(np.int8)
    out["worth.scale"] = np.float64(scale)
    np.savez_compressed(WEIGHTS, **out)  # type: ignore[arg-type]
    print(f"{WEIGHTS}: {WEIGHTS.stat().st_size:,} bytes; worth trained on {len(told):,} texts")


def _network() -> dict[str, NDArray[Any]]:
    """Return the network with vectors of four bits and layers of eight."""
    old = np.load(OLD / "convolution.npz")
    vectors = old["vectors"].astype(np.float32)
    scale = np.maximum(np.abs(vectors).max(axis=1), 1e-6) / 7
    pairs = (np.clip(np.round(vectors / scale[:, None]), -7, 7) + 8).astype(np.uint8)
    pairs = pairs.reshape(len(vectors), -1, 2)
    found: dict[str, NDArray[Any]] = {
        "vectors": (pairs[..., 0] << 4) | pairs[..., 1],
        "vectors_scale": (scale * float(old["scale"])).astype(np.float16),
        "pieces": np.frombuffer(str(old["pieces"]).encode(), np.uint8),
        "segments": old["segments"],
    }
    for name in ("conv1", "conv2", "conv3", "hidden", "last"):
        layer = old[f"{name}_weights"].astype(np.float32)
        step = np.abs(layer).max(axis=0) / 127
        found[f"{name}_weights"] = np.round(layer / step).astype(np.int8)
        found[f"{name}_scale"] = step.astype(np.float32)
        found[f"{name}_bias"] = old[f"{name}_bias"]
    return found


def main() -> None:
    """Print the table of each set."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("sets", nargs="*", default=["held"])
    parser.add_argument("--setting", action="append", choices=SETTINGS)
    parser.add_argument("--each", action="store_true", help="a line for each conversation, too")
    parser.add_argument("--pack", action="store_true", help="write the weights instead")
    options = parser.parse_args()
    if options.pack:
        pack()
        return
    for name in options.sets:
        found = scenarios(*name.split("+"))
        heads = " | ".join(SHOWN.values())
        print(f"\n{name}: {len(found)} conversations\n\n| memory | {heads} | false rules | reads |")
        print("| --- " * (len(SHOWN) + 3) + "|")
        for setting in options.setting or SETTINGS:
            for line in row(setting, found, each=options.each):
                print(line, flush=True)


if __name__ == "__main__":
    main()
