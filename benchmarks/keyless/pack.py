"""Trains the worth of sentences, and packs it with the other trained weights into the package.

    python benchmarks/keyless/pack.py            # compare with the package's file
    python benchmarks/keyless/pack.py --write    # write it

The worth is trained on ``sentence_worth`` and the facts of the ``open`` conversations. The acts, the network and the
liftings come from ``trained``, where `train_acts.py`, `train_convolution.py` with `tune_convolution.py`, and
`train_lifting.py` put them, in this order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np
from dataset import read, scenarios
from numpy.typing import NDArray
from softmax import fit
from stored import TRAINED, asked_to_write

from acc.compress.keyless import acts as reader
from acc.compress.keyless.facts import GRADES, worth_features
from acc.compress.keyless.words import clauses, plain
from acc.text.sentences import sentences
from acc.turn.observations import Channel
from acc_eval.ground_truth import Matcher

Array: TypeAlias = NDArray[Any] | np.generic

WEIGHTS = Path(reader.__file__).with_name("weights.npz")
KEPT_FEATURES, COARSER = 40_000, 8
"""Features of the acts that are kept, those of the greatest weights, and the factor by which weights are coarser."""


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


def packed() -> dict[str, Array]:
    """The arrays of the package's file."""
    lifting = np.load(TRAINED / "lifting.npz")
    parts: dict[str, Mapping[str, Array]] = {
        "acts": _acts(),
        "network": _network(),
        "lifting": {name: lifting[name] for name in lifting.files},
        "worth": worth(),
    }
    return {f"{part}.{name}": a for part, arrays in parts.items() for name, a in arrays.items()}


def _acts() -> dict[str, Array]:
    """Return the classifier of acts with its strongest features, and coarser weights."""
    old = np.load(TRAINED / "acts.npz")
    keys, weights = old["keys"], old["weights"].astype(int)  # each look unpacks the array anew
    strongest = np.argsort(-np.abs(weights).max(axis=1), kind="stable")[:KEPT_FEATURES]
    rows = sorted(strongest, key=lambda row: int(keys[row]))
    return {
        "keys": keys[rows],
        "weights": np.round(weights[rows] / COARSER).astype(np.int8),
        "scale": np.float64(float(old["scale"]) * COARSER),
    }


def worth() -> dict[str, Array]:
    """Train the classifier of what a sentence is worth."""
    told = list(examples())
    model = fit(
        [worth_features(text) for text, _ in told], [grade for _, grade in told], len(GRADES)
    )
    names = sorted(model.rows, key=lambda name: crc32(name.encode()))
    weights = np.stack([model.weights[model.rows[name]] for name in names])
    scale = np.abs(weights).max() / 127
    return {
        "keys": np.array([crc32(name.encode()) for name in names], np.uint32),
        "weights": np.round(weights / scale).astype(np.int8),
        "scale": np.float64(scale),
    }


def _network() -> dict[str, NDArray[Any]]:
    """Return the network with vectors of four bits and layers of eight."""
    old = np.load(TRAINED / "convolution.npz")
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
    """Say which parts differ from the package's file; write it if asked to."""
    writes = asked_to_write(__doc__)
    made = packed()
    with np.load(WEIGHTS) as shipped:
        names = sorted({*made, *shipped.files})
        same = [
            n
            for n in names
            if n in made and n in shipped.files and np.array_equal(made[n], shipped[n])
        ]
    print(
        f"{len(same)} of {len(names)} arrays as in the package; others: {sorted(set(names) - set(same))}"
    )
    if writes:
        np.savez_compressed(WEIGHTS, **made)  # type: ignore[arg-type]
        print(f"{WEIGHTS}: {WEIGHTS.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
