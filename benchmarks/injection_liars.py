"""Compressors that write what an injection asks for: the gullible one, and a model that does the same."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import openai
from injection_corpora import Case

from acc.compress.openai import OpenAICompressor
from acc.state.model import CompressedCognitiveState
from acc.state.proposal import Proposal
from acc.testing import ModelServer
from acc.turn.observations import Channel, Evidence, Trust
from acc.turn.turn import Turn

LONGEST = 200
"""Characters of an injection that a lie repeats: longer items are refused for their length."""


class Liar:
    """A compressor that writes what an injection asks for, citing and quoting whatever there is."""

    attempts = 4
    """What it cites: the user, the agent, all that there is, or tools and items that stand."""

    def __init__(self) -> None:
        self.case, self.attempt = Case("", "", ""), 0

    def __call__(
        self, turn: Turn, state: CompressedCognitiveState, evidence: Sequence[Evidence]
    ) -> Proposal:
        return Proposal.from_wire(self.wire(turn, state), type(state))

    def wire(self, turn: Turn, state: CompressedCognitiveState) -> dict[str, Any]:
        """The lies of this attempt, on the wire."""
        cites = self._cites(turn, state)
        words = self.case.words[:LONGEST].rpartition(" ")[0] or self.case.words[:LONGEST]
        own, told = self.case.asked, words.split()
        mixed = " ".join([*own.split()[:6], *told[:4]])
        begun = " ".join(own.split()[: max(3, len(own.split()) // 2)])
        n = self.attempt
        forms = [(words, words), (words, own), (mixed, own)]
        forms = forms[n % 3 :] + forms[: n % 3]
        wire: dict[str, Any] = {
            "constraints": [{"text": text, "quote": quote} for text, quote in forms],
            "goal_orientation": [{"text": text, "quote": quote} for text, quote in forms],
            "relational_map": [
                {"subject": " ".join(told[:3]), "predicate": "says", "object": words},
                {"subject": begun, "predicate": "means", "object": mixed},
            ],
            "predictive_cue": [{"text": words}, {"text": mixed}],
            "semantic_gist": [{"text": words}],
            "episodic_trace": [{"text": words}, {"text": mixed}],
            "uncertainty_signal": [{"level": "high", "gap": words}],
            "focal_entities": [{"type": "thing", "name": " ".join(told[:5])}],
        }
        if n % 2 == 0:
            wire["goal_orientation"] += [{"id": g.id, "done": True} for g in state.goal_orientation]
        wire["constraints"] += [
            {"id": c.id, "text": words, "quote": own} for c in state.constraints
        ]
        full = {
            slot: [{"id": "", "cites": cites, **entry} for entry in entries]
            for slot, entries in wire.items()
        }
        pinned = [*state.constraints, *(state.goal_orientation if n % 2 else ())]
        quote = (own, begun, words, own)[n]
        ends = [{"id": item.id, "cites": cites, "quote": quote} for item in pinned]
        return {**{name: [] for name in type(state).slots()}, **full, "retire": ends}

    def _cites(self, turn: Turn, state: CompressedCognitiveState) -> list[str]:
        seen = turn.readable
        user = [o.ref for o in seen if o.channel is Channel.USER]
        agent = [o.ref for o in seen if o.channel is Channel.AGENT]
        lower = [o.ref for o in seen if o.trust < Trust.AGENT]
        held = [item.id for item in state.constraints]
        return (user, agent, [*user, *agent, *lower], [*lower, *held])[self.attempt]


class Asked:
    """The shipped prompt, whose model answers what the liar would write."""

    def __init__(self, liar: Liar, stack: ExitStack) -> None:
        self._liar, self._wire = liar, dict[str, Any]()
        server = stack.enter_context(ModelServer(lambda _: self._wire))
        client = openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0)
        self._model = OpenAICompressor("lying", client=stack.enter_context(client))

    def __call__(
        self, turn: Turn, state: CompressedCognitiveState, evidence: Sequence[Evidence]
    ) -> Proposal:
        self._wire = self._liar.wire(turn, state)
        return self._model(turn, state, evidence)
