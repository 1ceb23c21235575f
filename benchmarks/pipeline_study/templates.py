"""The memory template of each role: a schema, with the slots that the role has to answer for.

The paper prints no template. It names three slots as examples ("domain_expertise", "current_position",
"proposed_solution"); every role has these three here. The others are ours, by the role's description.
"""

from __future__ import annotations

from typing import Annotated

from acc.state.items import Name, Record, Text
from acc.state.model import CompressedCognitiveState
from acc.state.slots import Slot


class Expertise(Record):
    """What the role contributes about a subject."""

    key = ("subject",)
    subject: Name
    contribution: Text


class Position(Record):
    """Where an agent stands on a subject."""

    key = ("agent", "subject")
    agent: Name
    subject: Name


class Choice(Record):
    """The technology for a component, and why."""

    key = ("component",)
    component: Name
    technology: Name
    reason: Text


class Setting(Record):
    """How a component is set up."""

    key = ("component",)
    component: Name
    setting: Text


class Scaling(Record):
    """How a component grows."""

    key = ("component",)
    component: Name
    way: Text


class Recovery(Record):
    """How a component survives a failure."""

    key = ("component",)
    component: Name
    way: Text


class Cost(Record):
    """What a component costs."""

    key = ("component",)
    component: Name
    amount: Name


class Saving(Record):
    """What keeps the cost of a component low."""

    key = ("component",)
    component: Name
    way: Text


class Drawback(Record):
    """What speaks against a component."""

    key = ("component",)
    component: Name
    drawback: Text


class Gap(Record):
    """What the proposal lacks."""

    key = ("component", "lacking")
    component: Name
    lacking: Name


Settings = Annotated[
    tuple[Setting, ...],
    Slot("settings", "b", "Set up", 10, guidance="how each component is set up"),
]
Scalings = Annotated[
    tuple[Scaling, ...],
    Slot("growth", "h", "Growth", 10, guidance="how each component grows with data and users"),
]
Recoveries = Annotated[
    tuple[Recovery, ...],
    Slot("recovery", "j", "Recovery", 10, guidance="how each component survives failures"),
]
Costs = Annotated[
    tuple[Cost, ...], Slot("costs", "m", "Costs", 10, guidance="what each component costs")
]
Savings = Annotated[
    tuple[Saving, ...],
    Slot("savings", "z", "Savings", 10, guidance="what keeps the cost of each component low"),
]
Drawbacks = Annotated[
    tuple[Drawback, ...],
    Slot("drawbacks", "n", "Drawbacks", 10, guidance="what speaks against each component"),
]
Gaps = Annotated[
    tuple[Gap, ...], Slot("gaps", "l", "Gaps", 10, guidance="what the proposal still lacks")
]


class RoleState(CompressedCognitiveState):
    """What every role keeps: the paper's three example slots."""

    domain_expertise: Annotated[
        tuple[Expertise, ...],
        Slot("expertise", "v", "Contributed", 6, guidance="what you contributed, by subject"),
    ] = ()
    current_position: Annotated[
        tuple[Position, ...],
        Slot("positions", "w", "Positions", 8, guidance="which agents accept what"),
    ] = ()
    proposed_solution: Annotated[
        tuple[Choice, ...],
        Slot("choices", "y", "Choices", 10, guidance="the technology of each component"),
    ] = ()


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
