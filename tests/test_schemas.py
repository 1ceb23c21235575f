"""The IT operations schema: keyed items replace one another, under the laws of commit."""

from __future__ import annotations

from acc import Channel, Observation, Proposal, Turn
from acc.commit.commit import commit
from acc.compress import wire_schema
from acc_schemas.it_operations import ITOperationsState


def _told(state: ITOperationsState, number: int, health: str) -> ITOperationsState:
    seen = Observation(
        channel=Channel.TOOL, name="probe", text=f"checkout is {health}: 502 on 3 of 4"
    )
    written = {
        "affected_services": [
            {
                "service": "checkout",
                "health": health,
                "symptom": "502 on 3 of 4",
                "cites": [f"t{number}"],
            }
        ],
        "changes": [
            {"change": "CHG-1", "window": "Wed 02:00", "stage": "no such", "cites": [f"t{number}"]}
        ],
    }
    proposal = Proposal.from_wire(written, ITOperationsState)
    done = commit(state, proposal, Turn(observations=(seen,)).numbered(number))
    assert [n.reason.value for n in done.refused] == ["malformed"]
    assert isinstance(done.state, ITOperationsState)
    return done.state


def test_a_later_health_replaces_an_earlier_one() -> None:
    state = _told(_told(ITOperationsState.empty(), 1, "down"), 2, "recovered")
    assert [(s.service, s.health) for s in state.affected_services] == [("checkout", "recovered")]
    assert state.changes == ()


def test_its_wire_schema_asks_for_the_domain_fields_and_nothing_about_trust() -> None:
    properties = wire_schema(ITOperationsState)["properties"]
    fields = properties["affected_services"]["items"]
    assert fields["required"] == ["service", "health", "symptom", "impact", "cites", "id"]
    assert "trust" not in fields["properties"]
