"""The text of a state that the agent reads, and the same with ids and costs that a compressor reads.

``lines`` is the default notation: a heading a slot, a line an item. ``predicates`` is the paper's. Records of tools
and documents stand under headings of their own, so that their mark costs nothing an item.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from acc.state.items import Computed, Cue, Goal, Item, Pinned, Record, Rule, Words
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Style
from acc.state.slots import SlotField
from acc.text.tokens import TokenCounter
from acc.turn.observations import Channel, Trust

RULES_HEADING = "Rules, word for word; they bind. LATER: said since about the rule; read both."
"""What an agent must know of rules. It stands in the heading, so that no other legend is needed."""


def render(state: CompressedCognitiveState, style: Style = "lines") -> str:
    """Return the text that the agent reads; empty for an empty state."""
    if style == "predicates":
        return "\n".join(_predicates(state))
    return "\n".join(lines(state, lambda _: "- "))


def lines(state: CompressedCognitiveState, prefix: Callable[[Item], str]) -> Iterator[str]:
    """Yield headings and items; ``prefix`` begins an item's line."""
    for name, slot in state.slots().items():
        items: Sequence[Item] = getattr(state, name)
        if not items or issubclass(slot.item, Computed):
            continue
        for heading, group in _groups(slot, items):
            yield f"{heading}:" if not heading.endswith(".") else heading
            for item in group:
                yield prefix(item) + shown(item)


def _groups(slot: SlotField, items: Sequence[Item]) -> Iterator[tuple[str, list[Item]]]:
    """Group records by the trust that has to be shown; other slots are one group."""
    title = RULES_HEADING if issubclass(slot.item, Rule) else slot.rules.title
    if not slot.is_record:
        yield title, list(items)
        return
    groups: dict[str, list[Item]] = {"": [], " by tool": [], " by document": []}
    for item in items:
        if isinstance(item, Record):
            is_lesser = item.trust < Trust.AGENT
            groups[f" by {item.trust.word}" if is_lesser else ""].append(item)
    yield from ((title + mark, group) for mark, group in groups.items() if group)


def cost(item: Item, counter: TokenCounter) -> int:
    """Return the tokens of an item's line."""
    return counter(f"- {shown(item)}\n")


def shown(item: Item) -> str:
    """Return an item as it is shown, with its marks."""
    if isinstance(item, Pinned):
        return _pinned(item)
    if isinstance(item, Record) and item.was is not None:
        return f'{item.text_of}; was "{item.was.text}" ({item.was.trust.word})'
    if isinstance(item, Cue):
        return f'{_speaker(item.words)}"{item.text_of}"'
    return item.text_of


def _pinned(item: Pinned) -> str:
    parts = [f"{_speaker(item.words)}{_quoted(item)}"]
    if item.about:
        parts.append(f"(about: {item.about.text})")
    if item.scope:
        parts.append(f'("{item.scope.text}")')
    if isinstance(item, Goal) and item.done:
        parts.append(f"DONE, says {item.done.speaker or item.done.channel.value}")
    parts += [f'LATER {when(w)}: {_speaker(w)}"{w.text}"' for w in item.later]
    if item.ending and item.ending.kind == "lifted" and item.ending.begins:
        parts.append(f"(from {item.ending.begins})")
    return " ".join(parts)


def _quoted(item: Pinned) -> str:
    if isinstance(item, Rule) and item.offer:
        return f'agent: "{item.offer.text}" {item.words.channel.value}: "{item.words.text}"'
    return f'"{item.words.text}"'


def _speaker(words: Words) -> str:
    """Return who spoke, where it is not the one user of the thread."""
    if words.speaker:
        return f"{words.speaker}: "
    return "" if words.channel is Channel.USER else f"{words.channel.value}: "


def when(words: Words) -> str:
    """Return the day on which words were said, or their turn if no time is known."""
    return words.at[:10] if words.at else f"turn {words.turn}"


def _predicates(state: CompressedCognitiveState) -> Iterator[str]:
    for name, slot in state.slots().items():
        if issubclass(slot.item, Computed):
            continue
        for item in getattr(state, name):
            mark = ""
            if isinstance(item, Record) and item.trust < Trust.AGENT:
                mark = f", by {item.trust.word}"
            yield f"{name}({shown(item)}{mark})"
