"""One task with one memory: played by an agent, or along a fixed plan."""

from __future__ import annotations

from dataclasses import dataclass

from acc.text.tokens import utf8_quarter
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn
from acc_eval.memories.protocol import EvaluatedMemory

from .agents import Agent
from .planner import needed
from .tasks import Task
from .words import LOOK, REFUSED
from .world import World

WORLD = "world"
"""The name of the environment as a tool."""


@dataclass(frozen=True)
class Played:
    """What came of a task.

    Attributes:
        progress: The largest share of the goal that held.
        done: Whether all of it held in the end.
        steps: Actions, refused ones and looks included.
        looks: Looks among them.
        refused: Refused actions among them.
        memory_tokens: Tokens of what the memory held, mean over the steps.
        most_tokens: The largest of them.
        tokens: All tokens that the agent read and wrote.
    """

    progress: float
    done: bool
    steps: int
    looks: int
    refused: int
    memory_tokens: float
    most_tokens: int
    tokens: int


@dataclass(frozen=True)
class Kept:
    """What a memory holds along a plan, mean over its steps.

    Attributes:
        held: Share of what holds that the memory says.
        stale: Share of what the memory says that does not hold.
        whole: Share of the steps at which the memory says exactly what holds.
        needed: Share of what the rest of the plan needs that the memory says.
        ready: Share of the steps at which it says all that the rest of the plan needs.
        tokens: Tokens of what it held.
        steps: Steps of the plan.
    """

    held: float
    stale: float
    whole: float
    needed: float
    ready: float
    tokens: float
    steps: int


def play(task: Task, memory: EvaluatedMemory, agent: Agent, steps: int) -> Played:
    """Let ``agent`` act until the task is done, it says nothing, or ``steps`` are over.

    Args:
        task: The task.
        memory: The memory; it reads each completed exchange, and is closed in the end.
        agent: The agent. It reads the task, what the memory holds, and the last exchange.
        steps: Steps at the most.
    """
    world = World(task)
    said, seen = "", world.first()
    memory.observe(_turn(Channel.USER, task.text, seen))
    looks = refused = tokens = 0
    held: list[int] = []
    while world.steps < steps and not world.done:
        text = memory.held().text
        held.append(utf8_quarter(text))
        prompt = "\n\n".join(part for part in (task.text, text, said, seen) if part)
        answer = agent.act(prompt, said, seen)
        tokens += utf8_quarter(prompt) + utf8_quarter(answer)
        if not answer:
            break
        said, seen = answer, world.step(answer)
        looks += said == LOOK
        refused += seen == REFUSED
        memory.observe(_turn(Channel.AGENT, said, seen))
    memory.close()
    return Played(
        world.progress, world.done, world.steps, looks, refused,
        sum(held) / max(1, len(held)), max(held, default=0), tokens,
    )  # fmt: skip


def follow(task: Task, memory: EvaluatedMemory) -> Kept:
    """Follow the planner's plan from the true start, and compare what the memory says with what holds.

    The last exchange is not added to what the memory holds. All memories see the same exchanges.
    """
    world = World(task)
    memory.observe(_turn(Channel.USER, task.text, world.first()))
    rows: list[tuple[float, float, bool, float, bool, int]] = []
    plan = task.planner.plan(task.problem.start, task.goal) or ()
    for at, action in enumerate(plan, 1):
        said = task.wording.action(action)
        memory.observe(_turn(Channel.AGENT, said, world.step(said)))
        text = memory.held().text
        belief = task.reader.believed(text)
        both = len(belief & world.state)
        wanted = needed(plan[at:], task.goal)
        rows.append((
            both / len(world.state), 1 - both / len(belief) if belief else 0.0,
            belief == world.state, len(wanted & belief) / len(wanted), wanted <= belief,
            utf8_quarter(text),
        ))  # fmt: skip
    memory.close()
    held, stale, whole, needs, ready, tokens = (
        sum(column) / len(rows) for column in zip(*rows, strict=True)
    )
    return Kept(held, stale, whole, needs, ready, tokens, len(rows))


def _turn(channel: Channel, said: str, seen: str) -> Turn:
    return Turn(
        observations=(
            Observation(channel=channel, text=said),
            Observation(channel=Channel.TOOL, text=seen, name=WORLD),
        )
    )
