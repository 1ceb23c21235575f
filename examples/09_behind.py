"""Compressing behind the agent: it answers at once, from the state before and the messages that wait in the tail."""

import tempfile
import threading

from acc.compress.keyless import compress
from acc.controller.controller import MemoryController
from acc.state.proposal import Proposal
from acc.state.reading import Reading
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn

ASKED = (
    "Never restart nginx during business hours. Checkout is slow, why?",
    "Would restarting nginx help?",
    "Which rules hold?",
)

model_answers = threading.Event()


def slow(reading: Reading) -> Proposal:
    """A stand-in for a model that takes its time over a compression."""
    model_answers.wait()
    return compress(reading)


def agent(reads: str, asked: str) -> str:
    """A stand-in for an agent: it knows what it reads, and nothing else."""
    if "restarting" in asked:
        return "Not now: never during business hours." if "Never restart nginx" in reads else "Yes."
    return "The rule about nginx holds." if "Never restart nginx" in reads else "Let me see."


def main() -> None:
    """Three turns; the rule becomes part of the state only while the agent answers the second."""
    with (
        tempfile.TemporaryDirectory() as folder,
        MemoryController.open(folder, model=slow, behind=True) as memory,
    ):
        state = None
        for asked in ASKED:
            step = memory.step(state, Turn.said(asked), thread="inc-4211")
            state = step.state
            answer = agent(step.text(), asked)
            waiting = sum(message.status == "unread" for message in step.tail)
            print(f"user:  {asked}\nagent: {answer}    [messages that wait: {waiting}]")
            said = Observation(channel=Channel.AGENT, text=answer)
            memory.record([said], thread="inc-4211", state=state)
            if asked is ASKED[1]:
                model_answers.set()
                memory.settle()  # the next step adopts what was compressed
        step = memory.step(state, Turn.said("Thanks."), thread="inc-4211")
        print(f"\n{step.text()}")


if __name__ == "__main__":
    main()
