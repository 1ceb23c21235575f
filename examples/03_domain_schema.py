"""A domain's state: a subclass with slots of its own. Commit holds them to the same laws."""

import json
from typing import Annotated, Literal

from acc.state.items import Name, Record, Text
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Proposal, read, wire_schema
from acc.state.reading import Reading
from acc.state.slots import Slot
from acc.step.update import update_state
from acc.turn.observations import Channel, Observation, Trust
from acc.turn.turn import Turn


class Job(Record):
    """A pipeline job; a later finding replaces an earlier one."""

    key = ("job",)
    job: Name
    stage: Literal["failed", "running", "recovered"]
    finding: Text = ""


class Window(Record):
    """When a site sees patients."""

    key = ("site",)
    site: Name
    hours: Name


class ClinicState(CompressedCognitiveState):
    """Clinical data operations."""

    jobs: Annotated[
        tuple[Job, ...], Slot("jobs", "j", "Jobs", places=8, guidance="pipeline jobs, by their id")
    ] = ()
    windows: Annotated[
        tuple[Window, ...],
        Slot(
            "windows",
            "w",
            "Clinic hours",
            places=4,
            least=Trust.USER,
            guidance="clinic hours by site",
        ),
    ] = ()


def written(reading: Reading) -> Proposal:
    """A stand-in for a model's answer: it takes the wiki's hours for the user's."""
    answer = {
        "jobs": [
            {"job": "hl7-3", "stage": "failed", "finding": "schema 2.5.1", "refs": ["t1"]},
        ],
        "windows": [
            {"site": "Northside", "hours": "07:00-19:00", "refs": ["u1"]},
            {"site": "Northside", "hours": "09:00-12:00", "refs": ["d1"]},
        ],
    }
    return read(answer, reading.policy.schema)


def main() -> None:
    """One commit with domain slots, and the schema that a model would be held to."""
    said = Observation(channel=Channel.USER, text="Clinic hours at Northside are 07:00-19:00.")
    log = Observation(channel=Channel.TOOL, name="airflow", text="job hl7-3 failed: schema 2.5.1")
    wiki = Observation(channel=Channel.DOCUMENT, name="wiki", text="Northside: 09:00-12:00.")
    turn = Turn(observations=(said, log, wiki))
    step = update_state(None, turn, model=written, policy=Policy(schema=ClinicState))
    print(step.text(), "\n")
    print(step.explain(), "\n")
    fields = wire_schema(ClinicState)["properties"]["jobs"]["items"]["properties"]
    print(json.dumps(fields))


if __name__ == "__main__":
    main()
