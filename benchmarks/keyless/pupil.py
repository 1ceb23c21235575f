"""Trains the network of the keyless compressor to say what its teacher says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from teacher import FIRST_WORD, batches
from torch import nn
from torch.nn import functional

from acc.compress.keyless.acts import ACTS, ENDS, NUMBER, OPENS, UNKNOWN, Layer, Network, framed
from acc.compress.keyless.words import Clause

DIMENSIONS, WIDTH = 64, 128
PASSES, BATCH, RATE, SEED = 7, 64, 2e-3, 0
COMMON = 18_000
"""Pieces that come early in the encoder's list are common; only those and what goes on a word are kept."""


def kept(names: Sequence[str], vectors: NDArray[np.float32]) -> tuple[list[str], Any]:
    """The pieces that are kept, and their vectors, turned so that few dimensions say most."""
    words = vectors[FIRST_WORD:COMMON]
    centre = words.mean(axis=0)
    turned = (vectors - centre) @ np.linalg.svd(words - centre, full_matrices=False)[2][
        :DIMENSIONS
    ].T
    turned /= turned[FIRST_WORD:].std()
    some = [at for at, name in enumerate(names) if _is_kept(at, name)]
    return [names[at] for at in some], turned[some].astype(np.float32)


def _is_kept(at: int, name: str) -> bool:
    if name in (OPENS, ENDS, NUMBER, UNKNOWN) or len(name.removeprefix("##")) == 1:
        return name.isascii() or at < FIRST_WORD
    letters = name.removeprefix("##")
    return at < COMMON and letters.isascii() and letters.isalpha()


LAYERS = ("conv1", "conv2", "conv3", "hidden", "last")


class Pupil(nn.Module):  # type: ignore[misc]
    """The network; its convolutions are linear layers over three places side by side."""

    def __init__(self, vectors: NDArray[np.float32]) -> None:
        super().__init__()
        self.vectors = nn.Embedding.from_pretrained(torch.tensor(vectors), freeze=False)
        self.segments = nn.Embedding(3, DIMENSIONS)
        self.conv1 = nn.Conv1d(DIMENSIONS, WIDTH, 3, padding=1)
        self.conv2 = nn.Conv1d(WIDTH, WIDTH, 3, padding=1)
        self.conv3 = nn.Conv1d(WIDTH, WIDTH, 3, padding=2, dilation=2)
        self.hidden = nn.Linear(4 * WIDTH, WIDTH)
        self.last = nn.Linear(WIDTH, len(ACTS))
        self.drop, self.drop_pooled = nn.Dropout(0.15), nn.Dropout(0.3)

    def forward(self, ids: Any, segments: Any, there: Any) -> Any:
        """Scores of the acts."""
        x = self.drop(self.vectors(ids) + self.segments(segments)) * there[..., None]
        x, mask = x.transpose(1, 2), there[:, None]
        a = functional.relu(self.conv1(x)) * mask
        b = a + functional.relu(self.conv2(a)) * mask
        c = b + functional.relu(self.conv3(b)) * mask
        own = ((segments == 0) * there)[:, None]
        around = ((segments != 0) * there)[:, None]
        mean = (c * own).sum(2) / own.sum(2)
        pooled = torch.cat([(c * own).amax(2), mean, (c * around).amax(2), c[:, :, 0]], 1)
        return self.last(self.drop_pooled(functional.relu(self.hidden(self.drop_pooled(pooled)))))

    @classmethod
    def of(cls, network: Network) -> Self:
        """A network, to be taught further."""
        pupil = cls(network.vectors)
        layers = (*network.convolutions, network.hidden, network.last)
        with torch.no_grad():
            pupil.segments.weight.copy_(torch.tensor(network.segments))
            for name, stored in zip(LAYERS, layers, strict=True):
                layer, weights = getattr(pupil, name), stored.weights.T
                if layer.weight.ndim == 3:  # as `write` laid them side by side
                    outputs, inputs, places = layer.weight.shape
                    weights = weights.reshape(outputs, places, inputs).transpose(0, 2, 1)
                layer.weight.copy_(torch.tensor(np.ascontiguousarray(weights)))
                layer.bias.copy_(torch.tensor(stored.bias))
        return pupil

    def write(self, names: Sequence[str], path: Path) -> None:
        """Store it: vectors as bytes, layers as halves."""
        stored: dict[str, Any] = {"pieces": np.array("\n".join(names))}
        vectors = self.vectors.weight.detach().numpy()
        scale = float(np.percentile(np.abs(vectors), 99.95) / 127)
        stored["scale"] = np.float32(scale)
        stored["vectors"] = np.clip(np.round(vectors / scale), -127, 127).astype(np.int8)
        stored["segments"] = self.segments.weight.detach().numpy().astype(np.float16)
        for name in LAYERS:
            layer = getattr(self, name)
            weights = layer.weight.detach().numpy()
            if weights.ndim == 3:  # outputs, inputs, places: the places of all inputs side by side
                weights = weights.transpose(0, 2, 1).reshape(len(weights), -1)
            weights = weights.T
            stored[f"{name}_weights"] = weights.astype(np.float16)
            stored[f"{name}_bias"] = layer.bias.detach().numpy().astype(np.float16)
        np.savez_compressed(path, **stored)


def network_in(path: Path) -> Network:
    """The network that `Pupil.write` stored."""
    with np.load(path) as found:
        names = str(found["pieces"]).split("\n")
        one, two, three, hidden, last = (
            Layer(
                found[f"{name}_weights"].astype(np.float32),
                found[f"{name}_bias"].astype(np.float32),
            )
            for name in LAYERS
        )
        vectors = found["vectors"].astype(np.float32) * np.float32(found["scale"])
        segments = found["segments"].astype(np.float32)
    places = {name: place for place, name in enumerate(names)}
    return Network(places, vectors, segments, (one, two, three), hidden, last)


def taught(
    pupil: Pupil,
    names: Sequence[str],
    spoken: Sequence[Clause],
    odds: NDArray[np.float32],
    passes: int = PASSES,
    rate: float = RATE,
) -> Pupil:
    """The pupil, once it says of each example what ``odds`` say, as nearly as it can."""
    places = {name: at for at, name in enumerate(names)}
    rows = [framed(one, places) for one in spoken]
    inner = [p for name, p in pupil.named_parameters() if not name.startswith("vectors.")]
    groups = [
        {"params": inner, "lr": rate},
        {"params": pupil.vectors.parameters(), "lr": rate / 2, "weight_decay": 0.0},
    ]
    optimiser = torch.optim.AdamW(groups, weight_decay=0.02)
    steps = passes * (len(rows) // BATCH)
    pace = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min(1, step / (0.05 * steps)) * max(0.0, 1 - step / steps)
    )
    rng = np.random.default_rng(SEED)
    pupil.train()
    for _ in range(passes):
        for some in batches([len(read) for read, _ in rows], BATCH, rng):
            said = pupil(*_batch([rows[at] for at in some])).log_softmax(1)
            loss = -(torch.tensor(odds[some]) * said).sum(1).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            pace.step()
    pupil.eval()
    return pupil


def _batch(rows: Sequence[tuple[list[int], list[int]]]) -> tuple[Any, ...]:
    longest = max(len(places) for places, _ in rows)
    ids, segments = (torch.zeros(len(rows), longest, dtype=torch.long) for _ in range(2))
    there = torch.zeros(len(rows), longest)
    for row, (places, parts) in enumerate(rows):
        ids[row, : len(places)] = torch.tensor(places)
        segments[row, : len(places)] = torch.tensor(parts)
        there[row, : len(places)] = 1
    return ids, segments, there
