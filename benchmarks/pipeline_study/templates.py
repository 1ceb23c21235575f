"""The memory template of each role: a schema, with the slots that the role has to answer for.

The paper prints no template. It names three slots as examples ("domain_expertise", "current_position",
"proposed_solution"); every role has these three here. The others are ours, by the role's description.
"""

from __future__ import annotations

from typing import Annotated

from acc import CompressedCognitiveState, Item, Slot
from acc.state import Example, Line, Name

KEPT = 70
"""Eviction priority of the roles' own slots: the generic slots make room before them."""


class Expertise(Item):
    """What the role contributes about a subject."""

    key = ("subject",)
    head = "subject"
    subject: Name
    contribution: Line


class Position(Item):
    """Where an agent stands on a subject."""

    key = ("agent", "subject")
    head = "agent"
    agent: Name
    subject: Name


class Choice(Item):
    """The technology for a component, and why."""

    key = ("component",)
    head = "component"
    component: Name
    technology: Name
    reason: Line


class Setting(Item):
    """How a component is set up."""

    key = ("component",)
    head = "component"
    component: Name
    setting: Line


class Scaling(Item):
    """How a component grows."""

    key = ("component",)
    head = "component"
    component: Name
    way: Line


class Recovery(Item):
    """How a component survives a failure."""

    key = ("component",)
    head = "component"
    component: Name
    way: Line


class Cost(Item):
    """What a component costs."""

    key = ("component",)
    head = "component"
    component: Name
    amount: Name


class Saving(Item):
    """What keeps the cost of a component low."""

    key = ("component",)
    head = "component"
    component: Name
    way: Line


class Drawback(Item):
    """What speaks against a component."""

    key = ("component",)
    head = "component"
    component: Name
    drawback: Line


class Gap(Item):
    """What the proposal lacks."""

    key = ("component", "lacking")
    head = "component"
    component: Name
    lacking: Name


Settings = Annotated[
    tuple[Setting, ...],
    Slot(
        max_items=10, eviction_priority=KEPT, id_prefix="b", guidance="how each component is set up",
        examples=(
            Example(
                "Ingestion runs with one shard for each sensor.",
                component="Ingestion", setting="one shard for each sensor",
            ),
        ),
    ),
]  # fmt: skip
Scalings = Annotated[
    tuple[Scaling, ...],
    Slot(
        max_items=10, eviction_priority=KEPT, id_prefix="h", guidance="how each component grows with data and users",
        examples=(
            Example(
                "Ingestion scales by adding shards.",
                component="Ingestion", way="adding shards",
            ),
        ),
    ),
]  # fmt: skip
Recoveries = Annotated[
    tuple[Recovery, ...],
    Slot(
        max_items=10, eviction_priority=KEPT, id_prefix="j", guidance="how each component survives failures",
        examples=(
            Example(
                "Ingestion recovers by replaying seven days.",
                component="Ingestion", way="replaying seven days",
            ),
        ),
    ),
]  # fmt: skip
Costs = Annotated[
    tuple[Cost, ...],
    Slot(
        max_items=10, eviction_priority=KEPT, id_prefix="m", guidance="what each component costs",
        examples=(
            Example(
                "Ingestion costs 900 dollars a month.",
                component="Ingestion", amount="900 dollars a month",
            ),
        ),
    ),
]  # fmt: skip
Savings = Annotated[
    tuple[Saving, ...],
    Slot(
        max_items=10, eviction_priority=KEPT, id_prefix="z", guidance="what keeps the cost of each component low",
        examples=(
            Example(
                "Ingestion saves money by batching records.",
                component="Ingestion", way="batching records",
            ),
        ),
    ),
]  # fmt: skip
Drawbacks = Annotated[
    tuple[Drawback, ...],
    Slot(
        max_items=10, eviction_priority=KEPT, id_prefix="n", guidance="what speaks against each component",
        examples=(
            Example(
                "A drawback of ingestion is the shard limit.",
                component="ingestion", drawback="the shard limit",
            ),
        ),
    ),
]  # fmt: skip
Gaps = Annotated[
    tuple[Gap, ...],
    Slot(
        max_items=10, eviction_priority=KEPT, id_prefix="l", guidance="what the proposal still lacks",
        examples=(
            Example(
                "Ingestion lacks a recovery.",
                component="Ingestion", lacking="a recovery",
            ),
        ),
    ),
]  # fmt: skip


class RoleState(CompressedCognitiveState):
    """What every role keeps: the paper's three example slots."""

    domain_expertise: Annotated[
        tuple[Expertise, ...],
        Slot(max_items=6, eviction_priority=KEPT, id_prefix="v", guidance="what you contributed, by subject"),
    ] = ()  # fmt: skip
    current_position: Annotated[
        tuple[Position, ...],
        Slot(
            max_items=8, eviction_priority=KEPT, id_prefix="w", guidance="which agents accept what",
            examples=(Example("DEA accepts the proposal.", agent="DEA", subject="the proposal"),),
        ),
    ] = ()  # fmt: skip
    proposed_solution: Annotated[
        tuple[Choice, ...],
        Slot(
            max_items=10, eviction_priority=KEPT + 5, id_prefix="y", guidance="the technology of each component",
            examples=(
                Example(
                    "For ingestion, use Amazon Kinesis, because shards scale alone.",
                    component="ingestion", technology="Amazon Kinesis", reason="shards scale alone",
                ),
            ),
        ),
    ] = ()  # fmt: skip


class DataEngineerState(RoleState):
    """The data engineer: how data is taken in and processed."""

    processing: Settings = ()
    recovery: Recoveries = ()


class InfrastructureState(RoleState):
    """The infrastructure engineer: growth and failures."""

    set_up: Settings = ()
    scaling: Scalings = ()
    recovery: Recoveries = ()


class BusinessState(RoleState):
    """The business objective engineer: costs, and what speaks against a choice."""

    costs: Costs = ()
    savings: Savings = ()
    drawbacks: Drawbacks = ()


class MachineLearningState(RoleState):
    """The machine learning engineer: training and inference."""

    set_up: Settings = ()
    drawbacks: Drawbacks = ()


class DelegationState(RoleState):
    """The delegation agent: who accepts, and what is open."""

    open_points: Gaps = ()


class WholeState(RoleState):
    """All that can be said of a component: for the roles that write down everything."""

    set_up: Settings = ()
    scaling: Scalings = ()
    recovery: Recoveries = ()
    costs: Costs = ()
    savings: Savings = ()
    drawbacks: Drawbacks = ()


class KnowledgeState(WholeState):
    """The knowledge integration agent: all that was agreed."""


class EvaluationState(RoleState):
    """The evaluation agent: what the proposal lacks."""

    gaps: Gaps = ()


class DocumentationState(WholeState):
    """The documentation agent: what the document has to hold."""
