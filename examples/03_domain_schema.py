"""A domain's state: a subclass with slots of its own. Commit holds them to the same laws."""

import json
from typing import Annotated

from acc import Channel, CompressedCognitiveState, Item, Observation, Proposal, Slot, Turn
from acc.commit.commit import commit
from acc.compress import wire_schema
from acc.state import Line, Name


class Job(Item):
    """A pipeline job; a later finding replaces an earlier one."""

    key = ("job",)
    head = "job"
    job: Name
    finding: Line


class ClinicState(CompressedCognitiveState):
    """Clinical data operations."""

    affected_jobs: Annotated[
        tuple[Job, ...],
        Slot(max_items=8, id_prefix="j", guidance="pipeline jobs known to be affected"),
    ]


def main() -> None:
    """One commit with a domain slot, and the schema that a model would be held to."""
    log = Observation(
        channel=Channel.TOOL, name="airflow", text="job hl7-ingest-3 failed: schema 2.5.1"
    )
    turn = Turn(observations=(log,)).numbered(1)
    written = {
        "affected_jobs": [{"job": "hl7-ingest-3", "finding": "schema 2.5.1", "cites": ["t1"]}]
    }
    done = commit(ClinicState.empty(), Proposal.from_wire(written, ClinicState), turn)
    print(done.state.render())
    fields = wire_schema(ClinicState)["properties"]["affected_jobs"]["items"]["properties"]
    print(json.dumps(sorted(fields)))


if __name__ == "__main__":
    main()
