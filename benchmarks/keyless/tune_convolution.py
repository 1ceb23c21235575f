"""Tune the network of what a sentence does to the labelled sentences themselves.

    python benchmarks/keyless/tune_convolution.py [--held NAME ...] [--write]

After `train_convolution.py`, once: what a teacher said of other wordings carries the network further than
labels can, and two passes over the labels bring it back to what people say. A label counts for
``LABELLED``, what the network said before for the rest. Two minutes; needs torch, no encoder.
``--held everyday ledger`` leaves these writers out, and shows what it makes of theirs, before and after.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from pupil import SEED, Pupil, network_in, taught
from train_acts import Example, examples
from train_convolution import NETWORK, compared, labels, said_by

from acc.compress.keyless.acts import Network

LABELLED, PASSES, RATE = 0.6, 2, 5e-4
TOLD = 0.98
"""What a label counts for its own act: what is unlikely has to stay so."""


def tuned(network: Network, found: Sequence[Example], path: Path) -> Network:
    """The network after two more passes; stored."""
    torch.manual_seed(SEED)
    odds = LABELLED * labels(found, TOLD) + (1 - LABELLED) * said_by(network, found)
    names = list(network.places)
    spoken = [e.clause for e in found]
    pupil = taught(Pupil.of(network), names, spoken, odds.astype(np.float32), PASSES, RATE)
    pupil.write(names, path)
    print(f"\nwritten: {path.name}, {path.stat().st_size / 1024:.0f} KB")
    return network_in(path)


def main() -> None:
    """Tune; compare on those held out, or write into the package."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--held", nargs="*", default=[], help="writers to leave out")
    parser.add_argument("--write", action="store_true", help="put the network into trained/")
    options = parser.parse_args()
    found = list(examples())
    seen = [e for e in found if e.source not in options.held]
    held = [e for e in found if e.source in options.held]
    before = network_in(NETWORK)
    after = tuned(before, seen, NETWORK if options.write else Path("convolution.npz"))
    if held:
        compared(seen, held, {"before": said_by(before, held), "after": said_by(after, held)})


if __name__ == "__main__":
    main()
