"""Committing the scenes of a worked example, and telling them: what was heard, written, refused.

And the same without a model: what the keyless compressor makes of plain turns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from acc import Channel, CompressedCognitiveState, Observation, Policy, Proposal, Turn, update_state
from acc.commit.commit import Commit, commit
from acc.schema.pages import own_slots


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


Heard = tuple[Observation, ...]


def keyless(
    schema: type[CompressedCognitiveState], turns: Sequence[Heard]
) -> Iterator[tuple[Turn, Commit]]:
    """What the keyless compressor has committed after each turn, one upon the other."""
    state: CompressedCognitiveState | None = None
    for number, heard in enumerate(turns, 1):
        turn = Turn(observations=heard).numbered(number)
        done = update_state(state, turn, policy=Policy(schema=schema))
        state = done.state
        yield turn, done


def filled(state: CompressedCognitiveState) -> list[tuple[str, str]]:
    """Slot and words of each item in the slots that the schema adds to the generic state."""
    own = {slot.name for slot in own_slots(type(state))}
    return [(slot.name, item.words) for slot, item in state.items() if slot.name in own]


def tell_keyless(
    schema: type[CompressedCognitiveState], plain: Sequence[Heard], hostile: Sequence[Heard]
) -> None:
    """Print what plain turns fill without a model, and what becomes of hostile ones."""
    print("\n--- without a model")
    for _, done in keyless(schema, plain):
        state = done.state
    for name, words in filled(state):
        print(f"{name}: {words}")
    for heard in hostile:
        ((_, done),) = keyless(schema, [heard])
        for said in heard:
            print(f"{said.channel.value}: {said.text}")
        print(f"    fills {', '.join(words for _, words in filled(done.state)) or 'nothing'}")
