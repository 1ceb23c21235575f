"""Chat windows from the store: a page of a thread for a user interface.

The agent does not read them. The store keeps the full conversation even if the messages in a
checkpoint were pruned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from acc.errors import InputError
from acc.state.model import ROOT, CompressedCognitiveState
from acc.stores.protocol import Artifact
from acc.thread.branch import Branch
from acc.thread.log import ThreadLog
from acc.turn.observations import PASTED, Channel


class Window(NamedTuple):
    """A page of a conversation.

    Attributes:
        messages: OpenAI chat messages, oldest first. If the user attached text, the content is a
            list: the user's words, then one part of type ``text-plain`` for each attached text.
        before: The value of `Page.before` that requests the previous page; None on the first page.
    """

    messages: list[dict[str, Any]]
    before: int | None


@dataclass(frozen=True)
class Page:
    """A page request: the ``last`` turns before turn ``before``, with or without tool calls."""

    last: int
    before: int | None = None
    tools: bool = False

    def __post_init__(self) -> None:
        if self.last < 1:
            raise InputError(
                f"a history of {self.last} turns was asked for",
                where="history",
                hint="ask for at least one turn",
            )


def read_window(log: ThreadLog, state: CompressedCognitiveState | None, page: Page) -> Window:
    """Implement `Memory.history`: the past of ``state``, or the whole root branch if it is None."""
    branch = log.branch(ROOT if state is None else state.branch)
    upto = None if state is None else state.turn
    # Observations recorded after ``state`` belong to the next turn, unless a step claimed that turn.
    if upto is not None and log.claims.of(branch, upto + 1) is None:
        upto += 1
    return _page(branch, upto, page)


def _page(branch: Branch, upto: int | None, page: Page) -> Window:
    visible = [a for a in branch.artifacts if _is_shown(a) and (upto is None or a.turn <= upto)]
    before = page.before
    exchanges = [e for e in _exchanges(visible) if before is None or e[0] < before]
    shown = exchanges[-page.last :]
    messages = [m for _, artifacts in shown for m in _messages(artifacts, branch, page.tools)]
    return Window(messages, shown[0][0] if len(exchanges) > len(shown) else None)


def _is_shown(artifact: Artifact) -> bool:
    spoken = artifact.kind == "observation" and artifact.part == 0
    return spoken and artifact.channel is not Channel.OPERATOR


def _exchanges(artifacts: Sequence[Artifact]) -> list[tuple[int, list[Artifact]]]:
    """Group the artifacts by the turn of the user's message that they follow."""
    found: list[tuple[int, list[Artifact]]] = []
    before: list[Artifact] = []
    brought = _brought(artifacts)
    for artifact in artifacts:
        if artifact.id in brought:
            before.append(artifact)
            continue
        opens = artifact.channel is Channel.USER and not (found and found[-1][0] == artifact.turn)
        if opens or not found:
            found.append((artifact.turn, []))
        found[-1][1].extend((*before, artifact))
        before = []
    return found


def _brought(artifacts: Sequence[Artifact]) -> set[str]:
    """Return the ids of texts that the user pasted or attached; they directly precede the user's words."""
    found = set()
    message: tuple[int, str] | None = None
    for artifact in reversed(artifacts):
        of = (artifact.turn, artifact.message)
        if artifact.channel is Channel.USER:
            message = of
        elif artifact.channel is Channel.DOCUMENT and not artifact.call_id and of == message:
            found.add(artifact.id)
        else:
            message = None
    return found


def _messages(
    artifacts: Sequence[Artifact], branch: Branch, tools: bool
) -> Iterator[dict[str, Any]]:
    pasted: list[str] = []
    attached: list[dict[str, str]] = []
    brought = _brought(artifacts)
    answer: dict[str, Any] | None = None
    for artifact in artifacts:
        text = branch.text(artifact.ref)
        if artifact.id in brought and artifact.name == PASTED:
            pasted.append(text)
        elif artifact.id in brought:
            attached.append({"type": "text-plain", "title": artifact.name, "text": text})
        elif artifact.channel is Channel.USER:
            said = "\n\n".join((text, *pasted))
            whole = [{"type": "text", "text": said}, *attached] if attached else said
            yield {"role": "user", "content": whole}
            pasted, attached, answer = [], [], None
        elif artifact.channel is not Channel.AGENT:
            answer = None
            if tools:
                yield _result(artifact, text)
        elif not artifact.call_id:
            answer = {"role": "assistant", "content": text}
            yield answer
        elif tools:
            if answer is None:
                answer = {"role": "assistant", "content": ""}
                yield answer
            answer.setdefault("tool_calls", []).append(_call(artifact, text))


def _call(artifact: Artifact, text: str) -> dict[str, Any]:
    # The outcome of the call may precede its name.
    start = text.find(f"{artifact.name}(") + len(artifact.name) + 1
    arguments = text[start:-1]
    function = {"name": artifact.name, "arguments": arguments}
    return {"id": artifact.call_id, "type": "function", "function": function}


def _result(artifact: Artifact, text: str) -> dict[str, Any]:
    named = {"tool_call_id": artifact.call_id, "name": artifact.name}
    return {"role": "tool", "content": text, **named}
