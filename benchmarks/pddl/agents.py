"""Who acts: a planner that knows only what it reads, or a model."""

from __future__ import annotations

from typing import Protocol

from acc.models.protocol import ChatModel
from acc_eval.asking import asked_text

from .language import Action, Literal
from .planner import State
from .tasks import Task
from .words import LOOK, REFUSED
from .world import CHECK


class Agent(Protocol):
    """Says the next action, or nothing where it knows of none."""

    def act(self, prompt: str, said: str, seen: str) -> str:
        """What to say, having read ``prompt``; ``said`` and ``seen`` are its last words and their answer."""
        ...


class PlanningAgent:
    """Plans from the sentences of its prompt, and from nothing else; it keeps no fact from step to step.

    Where it cannot look, it plans for the part of the goal that its knowledge puts within reach. It keeps plans by
    the state that they begin in, so that it does not waver between equal ones.
    """

    def __init__(self, task: Task, *, may_look: bool) -> None:
        """Act in ``task``; with ``may_look`` it looks around where it knows of no plan, or was refused."""
        self._task = task
        self._may_look = may_look
        self._plans: dict[tuple[State, tuple[Literal, ...]], tuple[Action, ...]] = {}

    def act(self, prompt: str, said: str, seen: str) -> str:
        """The first action of a plan; the words for looking; or nothing."""
        may_look = self._may_look and said != LOOK
        if seen == REFUSED and may_look:
            return LOOK
        belief, goal = self._task.reader.believed(prompt), self._task.goal
        near = self._task.planner.reachable(belief, goal)
        if near != goal and may_look:
            return LOOK
        plan = self._plan(belief, near)
        if plan and not (seen == REFUSED and self._task.wording.action(plan[0]) == said):
            return self._task.wording.action(plan[0])
        return LOOK if may_look else ""

    def _plan(self, belief: State, goal: tuple[Literal, ...]) -> tuple[Action, ...]:
        if (belief, goal) not in self._plans:
            plan = self._task.planner.plan(belief, goal) or ()
            state = belief
            for at, action in enumerate(plan):
                self._plans.setdefault((state, goal), plan[at:])
                state = action.after(state)
            self._plans.setdefault((state, goal), ())
        return self._plans.get((belief, goal), ())


ANSWER_TOKENS = 200
"""Tokens of a model's answer at the most."""


class ModelAgent:
    """Asks a model, which reads the rules of the domain and then the same prompt."""

    def __init__(self, task: Task, model: ChatModel, *, may_look: bool) -> None:
        """Act in ``task`` through ``model``."""
        self._model = model
        self.instruction = _rules(task, may_look)

    def act(self, prompt: str, said: str, seen: str) -> str:
        """The first line of the model's answer.

        Raises:
            EvaluationError: The model does not answer.
        """
        asked = f"{prompt}\n\nWhat do you do next?"
        answer = asked_text(self._model, self.instruction, asked, limit=ANSWER_TOKENS)
        return answer.strip().splitlines()[0] if answer.strip() else ""


def _rules(task: Task, may_look: bool) -> str:
    """The actions of a domain, with what each needs and changes, in its own words."""
    lines = [
        "You act in a world, one action at a time, until the task is done. Answer with one line: your next",
        'action in exactly these words, with names for the variables, such as "I open boot."',
    ]
    if task.needs_memory:
        lines.append("You see only what is new after an action. What an action ends is not shown.")
    for rule in task.rules.actions:
        names = {variable: variable[1:].upper() for variable, _ in rule.parameters}

        def shown(literals: tuple[Literal, ...], names: dict[str, str] = names) -> str:
            named = [tuple(names.get(word, word) for word in one) for one in literals]
            return ", ".join(task.wording.literal(one) for one in named) or "nothing"

        words = task.wording.actions[rule.name].format(*names.values())
        lines.append(
            f"I {words}. Needs: {shown(rule.needs)}. Then: {shown(rule.adds)}. Ends: {shown(rule.removes)}."
        )
    lines.append(f'"{CHECK}" lists what can be done; it costs a step.')
    if may_look:
        lines.append(f'"{LOOK}" shows all that holds; it costs a step.')
    return "\n".join(lines)
