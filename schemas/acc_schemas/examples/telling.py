"""Committing the scenes of a worked example, and telling them: what was heard, written, refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Proposal, read
from acc.state.reading import Reading
from acc.state.reasons import Note, Reason
from acc.state.render import render
from acc.step.result import Step
from acc.step.update import update_state
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn

REFUSALS = (Reason.UNTRUSTED, Reason.MALFORMED, Reason.NOT_FOUND, Reason.AMBIGUOUS)


class Scene(NamedTuple):
    """A turn, and the JSON object that a model writes about it."""

    heard: tuple[Observation, ...]
    written: Mapping[str, Sequence[Any]]


def user(text: str) -> Observation:
    """Return what the user says."""
    return Observation(channel=Channel.USER, text=text)


def agent(text: str) -> Observation:
    """Return what the agent says."""
    return Observation(channel=Channel.AGENT, text=text)


def tool(name: str, text: str) -> Observation:
    """Return what a tool returns."""
    return Observation(channel=Channel.TOOL, name=name, text=text)


def document(name: str, text: str) -> Observation:
    """Return what stands in a document: a mail, a page, a runbook."""
    return Observation(channel=Channel.DOCUMENT, name=name, text=text)


def steps(
    schema: type[CompressedCognitiveState], scenes: Sequence[Scene]
) -> Iterator[tuple[Turn, Step[Any]]]:
    """Yield the step of each scene, one upon the other."""
    state: CompressedCognitiveState = schema.empty()
    tail: Sequence[Any] = ()
    for number, scene in enumerate(scenes, 1):

        def written(reading: Reading, scene: Scene = scene) -> Proposal:
            return read(scene.written, reading.policy.schema)

        turn = Turn(observations=scene.heard)
        step = update_state(state, turn, tail=tail, model=written, policy=Policy(schema=schema))
        state, tail = step.state, step.tail
        yield turn.numbered(number), step


def refused(step: Step[Any]) -> list[Note]:
    """Return what commit refused."""
    return [note for note in step.notes if note.reason in REFUSALS]


def tell(schema: type[CompressedCognitiveState], scenes: Sequence[Scene]) -> None:
    """Print the scenes and what became of them, then the last state as the agent reads it."""
    state: CompressedCognitiveState = schema.empty()
    for turn, step in steps(schema, scenes):
        print(f"--- turn {turn.number}")
        for heard in turn.observations:
            print(f"{heard.ref} {heard.channel.value}: {heard.text}")
        for note in refused(step):
            print(f"    refused in {note.of}: {note}")
        state = step.state
    shown = render(state)
    print(f"--- the state, {Policy().counter(shown)} of at most {schema.max_tokens} tokens\n")
    print(shown)
