"""What the training scripts share: their option, what they hold out, where weights are stored.

Trained weights lie in ``trained``, as exact as training gave them. `pack` makes the package's file of them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from zlib import crc32

import numpy as np
from softmax import Softmax

from acc.compress.keyless.acts import Linear

TRAINED = Path(__file__).with_name("trained")


def write(model: Softmax, path: Path) -> None:
    """Store the weights of ``model`` as bytes, by the number of their feature."""
    scale = float(np.abs(model.weights).max() / 127)
    rows = {crc32(name.encode("utf-8", "surrogatepass")): row for name, row in model.rows.items()}
    kept = np.array(sorted(rows), dtype=np.uint32)
    weights = np.round(model.weights[[rows[int(k)] for k in kept]] / scale).astype(np.int8)
    used = weights.any(axis=1)
    np.savez_compressed(path, keys=kept[used], weights=weights[used], scale=np.float64(scale))
    print(f"\nwritten: {path.name}, {path.stat().st_size / 1024:.0f} KB")


def linear(path: Path) -> Linear:
    """The classifier that `write` stored."""
    with np.load(path) as found:
        rows = {int(number): row for row, number in enumerate(found["keys"])}
        return Linear(rows, found["weights"], float(found["scale"]))


def folds(sources: Iterable[str], count: int) -> Iterator[set[str]]:
    """Which of ``sources`` are held out, fold by fold: each once."""
    names = sorted(set(sources))
    yield from (set(names[fold::count]) for fold in range(count))


def asked_to_write(about: str | None) -> bool:
    """Whether the command line says ``--write``; ``about`` is what its help shows."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="put the weights into trained/")
    return bool(parser.parse_args().write)
