"""Whether an audit record tells of a turn of the conversation that is replayed."""

from __future__ import annotations

from acc.cli.threads import Record
from acc.turn import Channel, Turn


def is_conversation(record: Record) -> bool:
    """Whether a record is a turn of the conversation, and no operator's act in between."""
    if not (record["proposal"] or {}).get("reads_turn", True):
        return False
    observed = record["turn"]["observations"]
    return any(o["channel"] != Channel.OPERATOR for o in observed)


def same_words(record: Record, turn: Turn) -> bool:
    """Whether the user said the same; a long message is cut in the record, and tells nothing."""
    recorded = [o for o in record["turn"]["observations"] if o["channel"] == Channel.USER]
    said = [o.text for o in turn.observations if o.channel is Channel.USER]
    return any(o["left_out"] for o in recorded) or [o["text"] for o in recorded] == said
