"""The eight agents, the task, and what each agent is told."""

from __future__ import annotations

from typing import NamedTuple

from acc.state.model import CompressedCognitiveState
from acc_eval.judge import instruction, material

from . import templates
from .memories import Context
from .protocol import Selection

TASK = """\
Design a data pipeline for a self-driving application that trains models and infers with them on live data. Discuss it
and come to an agreement on every component. You may use AWS.

The data comes from cars in traffic, as it is recorded: six cameras (.jpg), one lidar (.pcd.bin), five radars (.pcd).

Find out first what the sources and the processing need and what the outcome has to be. Propose technologies,
components and architectures for these different streams in real time, weigh what speaks for and against each with
regard to scalability, maintainability and cost-effectiveness, and agree on one design with reasons.

The result is a short summary of the agreed components and how they connect, a plan with its rationale, an estimate of
cloud resources, effort and cost, and a document PIPELINE_OVERVIEW.json with the fields "Platform" (a provider, or
"local server"), "Component 1", "Component 2" and so on until all are listed, "Implementation difficulties" and
"Maintenance difficulties" (1 to 10 each).

This is a discussion of a design, not a project: assign no tasks and no deadlines."""
"""The paper's task (its Figure 5), in our words."""


class Agent(NamedTuple):
    """One of the eight agents.

    Attributes:
        code: Its name in Algorithm 2.
        title: Its name in the paper's list.
        duty: What it does.
        manner: What else it is told.
        template: The schema of its memory.
    """

    code: str
    title: str
    duty: str
    manner: str
    template: type[CompressedCognitiveState]


_WORKER = """\
Say what your field adds to the design or what it has to change: for each component the technology and the reason, \
settings, growth, failures, costs, drawbacks, as far as they are yours. Repeat nothing that was said. When the \
proposed solution has all that your field asks for, say ACCEPT."""
_AGENTS = (
    Agent(
        "BOA", "Business Objective Engineer", "You check the design against the business's requirements and its costs.",
        _WORKER, templates.BusinessState,
    ),
    Agent(
        "DEA", "Data Engineer Agent", "You determine how the data is taken in and processed.",
        _WORKER, templates.DataEngineerState,
    ),
    Agent(
        "MLA", "Machine Learning Engineer", "You provide the implementation of training and inference.",
        _WORKER, templates.MachineLearningState,
    ),
    Agent(
        "IA", "Infrastructure Engineer", "You design the cloud infrastructure.",
        _WORKER, templates.InfrastructureState,
    ),
    Agent(
        "CDA", "Conversation Delegation Agent", "You lead the conversation.",
        "Say which agents have accepted so far and what is still open, and let the next agent speak. When BOA, DEA, "
        "MLA and IA have all said ACCEPT, and only then, say FINALIZE.",
        templates.DelegationState,
    ),
    Agent(
        "KIA", "Knowledge Integration Agent", "You summarize each round of the discussion.",
        "Write down all that the team has proposed and agreed so far, component by component, and leave nothing out.",
        templates.KnowledgeState,
    ),
    Agent(
        "ERA", "Evaluation Agent", "You evaluate the proposed solution.",
        "Say for each component what the proposal lacks: a choice with its reason, settings, growth, recovery from "
        "failures, costs, drawbacks.",
        templates.EvaluationState,
    ),
    Agent(
        "DJE", "Documentation Joining Agent", "You write the final document when the team has agreed.",
        "Write the result that the task asks for, from what you read of the discussion, with PIPELINE_OVERVIEW.json as "
        "one JSON object. Give each component all that was agreed on it.",
        templates.DocumentationState,
    ),
)  # fmt: skip
AGENTS = {agent.code: agent for agent in _AGENTS}
"""The agents by their names in Algorithm 2. The paper's list says EA and MLE where the algorithm says ERA and MLA."""

WORKERS = Selection().workers
"""In the order of Algorithm 2."""

_SYSTEM = """\
You are {code}, the {title} of a team of eight agents: {team}. {duty} Your own words are the field text.

{manner}"""


def system_prompt(agent: Agent) -> str:
    """What an agent is told, whatever its memory."""
    team = ", ".join(f"{each.code} ({each.title})" for each in AGENTS.values())
    return instruction(
        _SYSTEM, code=agent.code, title=agent.title, team=team, duty=agent.duty, manner=agent.manner
    )


def user_prompt(context: Context) -> str:
    """What an agent reads: the task, its memory if it has one, and turns of the conversation."""
    memory = () if context.memory is None else (("your memory", context.memory),)
    turns = "\n\n".join(context.turns)
    return material(("the task", context.task), *memory, ("the conversation, newest last", turns))
