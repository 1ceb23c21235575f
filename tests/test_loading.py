"""What is read back of stored states and records."""

from __future__ import annotations

from acc.state.items import Entity, Uncertainty
from acc.state.loading import set_aside_today
from acc.state.model import CompressedCognitiveState
from acc.state.reasons import EvictedItem, Reason


def test_what_was_set_aside_comes_back_in_the_order_of_the_record() -> None:
    gone = [
        EvictedItem(
            slot="focal_entities",
            reason=Reason.MADE_ROOM,
            item=Entity(id="f1", type="host", name="db-1"),
        ),
        EvictedItem(
            slot="uncertainty_signal", reason=Reason.MADE_ROOM, item=Uncertainty(id="q2", gap="why")
        ),
        EvictedItem(
            slot="focal_entities",
            reason=Reason.MADE_ROOM,
            item=Entity(id="f3", type="host", name="db-3"),
        ),
    ]
    state = CompressedCognitiveState.empty().canonical()
    record = {"state": state, "set_aside": [each.model_dump(mode="json") for each in gone]}
    assert set_aside_today(CompressedCognitiveState, record) == gone
