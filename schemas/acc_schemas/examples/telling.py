"""Committing the scenes of a worked example, and telling them: what was heard, written, refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from acc.commit import Commit, commit
from acc.compress import Proposal
from acc.state import CompressedCognitiveState
from acc.turn import Channel, Observation, Turn


class Scene(NamedTuple):
    """A turn, and what a compressor writes about it, as it would on the wire."""

    heard: tuple[Observation, ...]
    written: Mapping[str, Sequence[Mapping[str, Any]]]


def user(text: str) -> Observation:
    """What the user says."""
    return Observation(channel=Channel.USER, text=text)


def agent(text: str) -> Observation:
    """What the agent says."""
    return Observation(channel=Channel.AGENT, text=text)


def tool(name: str, text: str) -> Observation:
    """What a tool returns."""
    return Observation(channel=Channel.TOOL, name=name, text=text)


def document(name: str, text: str) -> Observation:
    """What stands in a document: a mail, a page, a runbook."""
    return Observation(channel=Channel.DOCUMENT, name=name, text=text)


def commits(
    schema: type[CompressedCognitiveState], scenes: Sequence[Scene]
) -> Iterator[tuple[Turn, Commit]]:
    """The commit of each scene, one upon the other."""
    state: CompressedCognitiveState = schema.empty()
    for number, scene in enumerate(scenes, 1):
        turn = Turn(observations=scene.heard).numbered(number)
        done = commit(state, Proposal.from_wire(scene.written, schema), turn)
        state = done.state
        yield turn, done


def tell(schema: type[CompressedCognitiveState], scenes: Sequence[Scene]) -> None:
    """Print the scenes and what became of them, then the last state as the agent reads it."""
    for turn, done in commits(schema, scenes):
        print(f"--- turn {turn.number}")
        for heard in turn.observations:
            print(f"{heard.ref} {heard.channel.value}: {heard.text}")
        for note in done.refused:
            print(f"    refused: {note}")
    print(f"--- the state, {done.tokens} of at most {schema.max_tokens} tokens\n")
    print(done.state.render())
