"""The environment: it holds the true state and answers in words."""

from __future__ import annotations

from .language import Action, Literal
from .tasks import Task
from .words import LOOK, REFUSED, SEEN

CHECK = "Check valid actions"
NOTHING_NEW = "Nothing new is to be seen."


class World:
    """A task under way.

    Attributes:
        state: What holds.
        steps: Actions so far, refused ones and looks included.
        progress: The largest share of the goal that held after any step.
    """

    def __init__(self, task: Task) -> None:
        """Begin ``task``."""
        self._task = task
        self.state: frozenset[Literal] = task.problem.start
        self.steps = 0
        self.progress = self._share()

    def first(self) -> str:
        """The initial observation."""
        return self._everything()

    def step(self, said: str) -> str:
        """Do what the agent says, and observe."""
        self.steps += 1
        plain = said.strip().rstrip(".").lower()
        if plain == LOOK.lower():
            return self._everything()
        if plain == CHECK.lower():
            able = [self._task.wording.action(each) for each in self.possible()]
            return "You may say: " + " / ".join(text[2:].rstrip(".") for text in able)
        action = self._task.reader.action(said)
        if action is None or not action.needs <= self.state:
            return REFUSED
        before, self.state = self.state, action.after(self.state)
        self.progress = max(self.progress, self._share())
        if not self._task.wording.news_only:
            return self._everything()
        return self._task.wording.sentences(self.state - before) or NOTHING_NEW

    @property
    def done(self) -> bool:
        """Whether all of the goal holds."""
        return self.state.issuperset(self._task.goal)

    def possible(self) -> list[Action]:
        """The actions that can be done now."""
        return [each for each in self._task.actions if each.needs <= self.state]

    def _everything(self) -> str:
        return f"{SEEN} {self._task.wording.sentences(self.state)}"

    def _share(self) -> float:
        goal = self._task.goal
        return sum(one in self.state for one in goal) / len(goal)
