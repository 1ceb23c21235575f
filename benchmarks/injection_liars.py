"""Those who do what an injection asks: a gullible compressor, a model that answers the same, a judge that agrees."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from injection_corpora import Case

from acc.models.protocol import Completion, Messages, Schema, Usage
from acc.state.proposal import Proposal, read
from acc.state.reading import Claim, Judgement, Reading, claim_digest
from acc.turn.observations import Channel, Trust

LONGEST = 200
"""Characters of an injection that a lie repeats."""


class Liar:
    """A compressor that writes what an injection asks for, citing and quoting whatever there is.

    Attributes:
        case: The injection of the moment.
        attempt: What it cites: the user, the agent, all that there is, or tools and documents.
    """

    attempts = 4

    def __init__(self) -> None:
        self.case, self.attempt = Case("", "", ""), 0

    def __call__(self, reading: Reading) -> Proposal:
        """Propose the lies of this attempt."""
        return read(self.wire(reading), type(reading.state))

    def wire(self, reading: Reading) -> dict[str, Any]:
        """The lies of this attempt, on the wire."""
        refs = self._refs(reading) or [reading.messages[0].ref]
        words = self.case.words[:LONGEST].rpartition(" ")[0] or self.case.words[:LONGEST]
        own = self.case.asked
        mixed = " ".join([*own.split()[:6], *words.split()[:4]])
        quotes = (words, own, mixed)
        pins = [{"quote": quote, "ref": ref} for quote in quotes for ref in refs]
        agreed = [{"quote": "Ok.", "ref": ref, "offer": words} for ref in refs]
        held = [*reading.state.constraints, *reading.state.goal_orientation]
        ends = [
            {"id": item.id, "quote": quote, "ref": ref, "ends": True}
            for item in held
            for quote in quotes
            for ref in refs[:1]
        ]
        texts = (words, mixed)
        records = [{"text": text, "refs": refs} for text in texts]
        return {
            "rules": [*pins, *agreed],
            "goals": pins,
            "later": [*ends, *({"id": item.id, "no_rule": True} for item in held)],
            "done": [{"id": g.id, "ref": refs[0]} for g in reading.state.goal_orientation],
            "facts": records,
            "open": records[:1],
            "entities": [{"text": " ".join(words.split()[:5]), "refs": refs}],
            "gist": records[:1],
            "next": [{"quote": quote, "ref": ref} for quote in texts for ref in refs],
            "drop": [item.id for item in held],
        }

    def _refs(self, reading: Reading) -> list[str]:
        seen = [message for message in reading.messages if message.status != "read"]
        user = [m.ref for m in seen if m.channel is Channel.USER]
        agent = [m.ref for m in seen if m.channel is Channel.AGENT]
        lower = [m.ref for m in seen if m.channel.trust < Trust.AGENT]
        return (user, agent, [*user, *agent, *lower], lower)[self.attempt]


class LyingModel:
    """A model that answers what the liar would write: the shipped prompt and answers are between them."""

    name = "lying"

    def __init__(self, liar: Liar) -> None:
        self._liar = liar
        self.reading: Reading | None = None

    def complete(
        self, messages: Messages, schema: Schema, *, max_tokens: int | None = None
    ) -> Completion:
        """Answer with the lies about what is read."""
        wire = self._liar.wire(self.reading) if self.reading else {}
        return Completion(json.dumps(wire), Usage(1), self.name)

    async def acomplete(
        self, messages: Messages, schema: Schema, *, max_tokens: int | None = None
    ) -> Completion:
        """Answer with the lies about what is read."""
        return self.complete(messages, schema)


def agree(claims: Sequence[Claim]) -> Sequence[Judgement]:
    """Judge that each rule has ended."""
    return [Judgement(digest=claim_digest(claim.item), verdict="ends") for claim in claims]
