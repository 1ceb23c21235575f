"""What the classifiers of acts make of clauses that none of them has seen, of three kinds.

    python benchmarks/keyless/held_acts.py [--teacher FILE]

``--teacher`` adds the encoder that `train_convolution.py` kept in FILE, and needs what that needs.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from conversations import HELD, PLAIN
from liftings import UNSEEN
from train_acts import Example, of_conversations, of_messages, recall_at

from acc.compress.keyless.acts import Linear, Network, features, mixed

PRECISION = 0.85


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--teacher", type=Path, help="file of the tuned encoder")
    file = parser.parse_args().teacher
    for kind, found in unseen().items():
        compare(kind, found, file)


def unseen() -> dict[str, list[Example]]:
    """The clauses that no classifier is trained on, by kind."""
    held = list(of_conversations(HELD))
    plain = [e for e in held if e.source not in OBLIQUE]
    return {
        "held conversations, oblique": [e for e in held if e.source in OBLIQUE],
        "conversations, plain": [*plain, *of_conversations(PLAIN)],
        "messages, plain": list(of_messages(UNSEEN)),
    }


OBLIQUE = ("catalogue", "dairy", "hiring", "patching", "portfolio", "relocation")
"""The held conversations whose users speak in hints; those of the others speak plainly."""


def compare(kind: str, found: Sequence[Example], file: Path | None) -> None:
    """Print what each classifier makes of the clauses."""
    spoken, acts = [e.clause for e in found], np.array([e.act for e in found])
    ngrams = [Linear.read("acts").odds(features(one)) for one in spoken]
    network = [Network.read().odds(one) for one in spoken]
    both = [mixed(a, b) for a, b in zip(ngrams, network, strict=True)]
    rows = {"n-grams": ngrams, "network": network, "both, as they are used": both}
    if file is not None:
        from train_convolution import teacher_of

        rows["the teacher, 91 MB"] = teacher_of([], file).odds(spoken).tolist()
    print(f"{kind}: {len(found)} clauses\n\n| | right | rules at a precision of {PRECISION} |")
    print("| --- | --- | --- |")
    for name, said in rows.items():
        odds = np.array(said)
        right = (odds.argmax(axis=1) == acts).mean()
        print(f"| {name} | {right:.3f} | {recall_at(PRECISION, odds[:, 0], acts == 0):.2f} |")
    print()


if __name__ == "__main__":
    main()
