"""Committing behind the agent: it answers at once, from the state before and what is not committed yet."""

import tempfile
import threading
from collections.abc import Sequence

from acc import (
    Channel,
    CompressedCognitiveState,
    MemoryController,
    Observation,
    Proposal,
    RuleCompressor,
    Turn,
)
from acc.background import BackgroundMemory
from acc.turn import Evidence

ASKED = (
    "Never restart nginx during business hours. Checkout is slow, why?",
    "Would restarting nginx help?",
    "Which rules hold?",
)

model_answers = threading.Event()


def slow(turn: Turn, state: CompressedCognitiveState, evidence: Sequence[Evidence]) -> Proposal:
    """A stand-in for a model that takes its time over a compression."""
    model_answers.wait()
    return RuleCompressor()(turn, state, evidence)


def agent(reads: str, asked: str) -> str:
    """A stand-in for an agent: it knows what it reads, and nothing else."""
    if "restarting" in asked:
        return "Not now: never during business hours." if "Never restart nginx" in reads else "Yes."
    return "The rule about nginx holds." if "Never restart nginx" in reads else "Let me see."


def main() -> None:
    """Three turns; the first is committed only while the agent answers the second."""
    with (
        tempfile.TemporaryDirectory() as folder,
        MemoryController.open(folder, compressor=slow) as memory,
        BackgroundMemory(memory) as background,
    ):
        state = background.last_state("inc-4211")  # also finds what a killed process left
        for asked in ASKED:
            entry = background.begin(state, Turn.said(asked), thread="inc-4211")
            answer = agent(entry.reads, asked)
            print(f"user:  {asked}\nagent: {answer}    [turns not committed: {entry.waiting}]")
            said = Observation(channel=Channel.AGENT, text=answer)
            state = background.finish(entry, [said])  # stored; committed behind
            if asked is ASKED[1]:
                model_answers.set()
                background.drain()
        done = background.begin(state, Turn.said("Thanks."), thread="inc-4211", wait=None)
        print(f"\n{done.state.render()}")


if __name__ == "__main__":
    main()
