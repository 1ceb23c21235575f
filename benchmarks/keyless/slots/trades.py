"""Schemas of four trades that no schema ships for, declared as a newcomer would: two examples a slot."""

from __future__ import annotations

from typing import Annotated, Literal

from acc import CompressedCognitiveState, Item, Slot, Trust
from acc.state import Name, OptionalLine, OptionalName
from acc.state.slots import Example


class Sailing(Item):
    """A departure and how it runs."""

    key = ("sailing",)
    head = "sailing"
    sailing: Name
    running: Literal["on_time", "delayed", "cancelled", "departed"]
    because: OptionalLine = ""


class Berth(Item):
    """A berth and whether it can be used."""

    key = ("berth",)
    head = "berth"
    berth: Name
    condition: Literal["open", "closed", "restricted"]
    until: OptionalName = ""


class Clearance(Item):
    """What the duty manager lets the crew do."""

    key = ("action",)
    head = "action"
    action: Name
    answer: Literal["given", "refused"]
    terms: OptionalLine = ""


class FerryState(CompressedCognitiveState):
    """Ferry operations: sailings, berths, clearances."""

    sailings: Annotated[
        tuple[Sailing, ...],
        Slot(
            max_items=10,
            id_prefix="h",
            eviction_priority=55,
            guidance="sailings by number",
            cues=("sailing", "departure"),
            examples=(
                Example(
                    "FR-204 is delayed, swell at the bar",
                    sailing="FR-204",
                    running="delayed",
                    because="swell at the bar",
                ),
                Example(
                    "We cancelled FR-118: no master",
                    sailing="FR-118",
                    running="cancelled",
                    because="no master",
                ),
            ),
        ),
    ]
    berths: Annotated[
        tuple[Berth, ...],
        Slot(
            max_items=6,
            id_prefix="n",
            eviction_priority=60,
            guidance="berths by name",
            cues=("berth", "linkspan"),
            examples=(
                Example(
                    "Berth 2 is closed until Thursday",
                    berth="Berth 2",
                    condition="closed",
                    until="Thursday",
                ),
                Example("Berth 4 has reopened", berth="Berth 4", condition="open"),
            ),
        ),
    ]
    clearances: Annotated[
        tuple[Clearance, ...],
        Slot(
            max_items=6,
            id_prefix="y",
            eviction_priority=85,
            min_trust=Trust.USER,
            guidance="what the duty manager allows",
            cues=("clear", "allowed"),
            examples=(
                Example(
                    "You may load hazardous cargo on the 06:00 only",
                    action="load hazardous cargo",
                    answer="given",
                    terms="on the 06:00 only",
                ),
                Example(
                    "I won't allow fuelling with passengers aboard",
                    action="fuelling with passengers aboard",
                    answer="refused",
                ),
            ),
        ),
    ]


class Patient(Item):
    """An animal in treatment."""

    key = ("animal",)
    head = "animal"
    animal: Name
    state: Literal["stable", "critical", "recovering", "discharged"]
    finding: OptionalLine = ""


class Dose(Item):
    """A drug as it is given to an animal. The vet's word alone."""

    key = ("animal", "drug")
    head = "drug"
    animal: Name
    drug: Name
    dose: Name


class Consent(Item):
    """What an owner agreed to, by the vet's word."""

    key = ("procedure",)
    head = "procedure"
    procedure: Name
    answer: Literal["given", "refused"]
    limit: OptionalName = ""


class VetState(CompressedCognitiveState):
    """A veterinary practice: animals, doses, consents."""

    animals: Annotated[
        tuple[Patient, ...],
        Slot(
            max_items=8,
            id_prefix="h",
            eviction_priority=60,
            guidance="animals by name",
            cues=("stable", "critical", "discharged"),
            examples=(
                Example(
                    "Bruno is stable, temperature 38.4",
                    animal="Bruno",
                    state="stable",
                    finding="temperature 38.4",
                ),
                Example("We discharged Luna this morning", animal="Luna", state="discharged"),
            ),
        ),
    ]
    doses: Annotated[
        tuple[Dose, ...],
        Slot(
            max_items=8,
            id_prefix="n",
            eviction_priority=80,
            min_trust=Trust.USER,
            guidance="drug and dose by animal",
            cues=("dose", "twice a day"),
            examples=(
                Example(
                    "Bruno gets meloxicam, 2 mg", animal="Bruno", drug="meloxicam", dose="2 mg"
                ),
                Example(
                    "Give Luna 5 ml of lactulose", animal="Luna", drug="lactulose", dose="5 ml"
                ),
            ),
        ),
    ]
    consents: Annotated[
        tuple[Consent, ...],
        Slot(
            max_items=5,
            id_prefix="y",
            eviction_priority=85,
            min_trust=Trust.USER,
            guidance="what owners agreed to",
            cues=("consent", "agreed"),
            examples=(
                Example(
                    "The owner agreed to the splenectomy, up to 900 EUR",
                    procedure="splenectomy",
                    answer="given",
                    limit="up to 900 EUR",
                ),
                Example(
                    "The owner refused a transfusion", procedure="transfusion", answer="refused"
                ),
            ),
        ),
    ]


class CueSheet(Item):
    """A cue of the show."""

    key = ("cue",)
    head = "cue"
    cue: Name
    stage: Literal["set", "changed", "cut"]
    note: OptionalLine = ""


class Prop(Item):
    """A prop and where it is."""

    key = ("prop",)
    head = "prop"
    prop: Name
    condition: Literal["ready", "broken", "missing", "repaired"]
    where: OptionalName = ""


class Call(Item):
    """When somebody is called. The stage manager's word alone."""

    key = ("who",)
    head = "who"
    who: Name
    time: Name


class TheatreState(CompressedCognitiveState):
    """Stage management: cues, props, calls."""

    cue_sheet: Annotated[
        tuple[CueSheet, ...],
        Slot(
            max_items=12,
            id_prefix="h",
            eviction_priority=60,
            guidance="cues by number",
            cues=("LX", "cue"),
            examples=(
                Example(
                    "LX42 is cut, the song was dropped",
                    cue="LX42",
                    stage="cut",
                    note="the song was dropped",
                ),
                Example(
                    "We changed SQ7: two seconds later",
                    cue="SQ7",
                    stage="changed",
                    note="two seconds later",
                ),
            ),
        ),
    ]
    props: Annotated[
        tuple[Prop, ...],
        Slot(
            max_items=8,
            id_prefix="n",
            eviction_priority=50,
            guidance="props that matter",
            cues=("prop",),
            examples=(
                Example(
                    "The lantern is broken, in the workshop",
                    prop="lantern",
                    condition="broken",
                    where="in the workshop",
                ),
                Example("The letter went missing", prop="letter", condition="missing"),
            ),
        ),
    ]
    calls: Annotated[
        tuple[Call, ...],
        Slot(
            max_items=8,
            id_prefix="y",
            eviction_priority=80,
            min_trust=Trust.USER,
            guidance="calls by person or group",
            cues=("called", "call"),
            examples=(
                Example("Orchestra is called for 17:30", who="Orchestra", time="17:30"),
                Example("The call for dancers is Friday 10:00", who="dancers", time="Friday 10:00"),
            ),
        ),
    ]


class Batch(Item):
    """A brew and how far it is."""

    key = ("batch",)
    head = "batch"
    batch: Name
    stage: Literal["fermenting", "conditioning", "ready", "dumped"]
    note: OptionalLine = ""


class Tank(Item):
    """A tank and whether it can be filled."""

    key = ("tank",)
    head = "tank"
    tank: Name
    state: Literal["clean", "dirty", "in_use"]


class Release(Item):
    """What the brewer releases, and for what."""

    key = ("batch",)
    head = "batch"
    batch: Name
    answer: Literal["given", "refused"]
    terms: OptionalLine = ""


class BreweryState(CompressedCognitiveState):
    """A brewery: batches, tanks, releases."""

    batches: Annotated[
        tuple[Batch, ...],
        Slot(
            max_items=8,
            id_prefix="h",
            eviction_priority=60,
            guidance="batches by number",
            cues=("batch",),
            examples=(
                Example(
                    "B-101 is conditioning, 4 C", batch="B-101", stage="conditioning", note="4 C"
                ),
                Example("We dumped B-102: sour", batch="B-102", stage="dumped", note="sour"),
            ),
        ),
    ]
    tanks: Annotated[
        tuple[Tank, ...],
        Slot(
            max_items=6,
            id_prefix="n",
            eviction_priority=50,
            guidance="tanks by number",
            cues=("tank",),
            examples=(
                Example("Tank 3 is clean", tank="Tank 3", state="clean"),
                Example("Tank 4 is in use", tank="Tank 4", state="in_use"),
            ),
        ),
    ]
    releases: Annotated[
        tuple[Release, ...],
        Slot(
            max_items=6,
            id_prefix="y",
            eviction_priority=85,
            min_trust=Trust.USER,
            guidance="what the brewer releases",
            cues=("release",),
            examples=(
                Example(
                    "I release B-101 for bottles only",
                    batch="B-101",
                    answer="given",
                    terms="for bottles only",
                ),
                Example("I won't release B-102", batch="B-102", answer="refused"),
            ),
        ),
    ]
