"""A forward planner: greedy best-first search by relaxed plans, from what is believed to hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush

from .language import Action, Literal

State = frozenset[Literal]

MOST_NODES = 600
"""States that a search for the whole goal visits before it gives up."""

MOST_MORE = 200
"""States that a search for one more condition visits."""


class Planner:
    """Plans in one task's actions; the same question gets the same answer."""

    def __init__(self, actions: Sequence[Action]) -> None:
        """Plan in these ground actions."""
        self._actions = actions
        changed = {one[0] for each in actions for one in (*each.adds, *each.removes)}
        self._fixed = [frozenset(n for n in each.needs if n[0] not in changed) for each in actions]
        self._found: dict[tuple[State, tuple[Literal, ...]], tuple[Action, ...] | None] = {}

    def reachable(self, belief: State, goal: Sequence[Literal]) -> tuple[Literal, ...]:
        """The part of the goal that no missing literal puts out of reach."""
        held = set(belief)
        usable = self._usable(belief)
        while True:
            rest = [each for each in usable if not each.needs <= held]
            held.update(one for each in usable if each.needs <= held for one in each.adds)
            if len(rest) == len(usable):
                return tuple(one for one in goal if one in held)
            usable = rest

    def plan(self, belief: State, goal: Sequence[Literal]) -> tuple[Action, ...] | None:
        """A plan that reaches all of the goal from ``belief``; None if none was found.

        If the whole is too much for one search, conditions are reached one after the other.
        """
        asked = (belief, tuple(goal))
        if asked not in self._found:
            usable = self._usable(belief)
            found = _search(usable, belief, asked[1], MOST_NODES)
            if found is None and len(goal) > 1:
                found = _one_by_one(usable, belief, asked[1])
            self._found[asked] = None if found is None else _shortened(found, belief, asked[1])
        return self._found[asked]

    def _usable(self, belief: State) -> list[Action]:
        pairs = zip(self._actions, self._fixed, strict=True)
        return [each for each, fixed in pairs if fixed <= belief]


def needed(plan: Sequence[Action], goal: Sequence[Literal]) -> State:
    """What has to hold at first for ``plan`` to work and to reach ``goal``, and no more."""
    wanted = frozenset(goal)
    for action in reversed(plan):
        wanted = (wanted - action.adds) | action.needs
    return wanted


def _one_by_one(
    actions: Sequence[Action], start: State, goal: Sequence[Literal]
) -> list[Action] | None:
    """Plans for ever more of the goal, joined; conditions on one object come together."""
    plan: list[Action] = []
    state = start
    ends = [
        at
        for at in range(1, len(goal) + 1)
        if at == len(goal) or goal[at][1:2] != goal[at - 1][1:2]
    ]
    for number in ends:
        more = _search(actions, state, goal[:number], MOST_MORE)
        if more is None:
            return None
        for action in more:
            state = action.after(state)
        plan += more
    return plan


def _shortened(plan: Iterable[Action], start: State, goal: Sequence[Literal]) -> tuple[Action, ...]:
    """The plan without actions, or pairs of them, that it does not need."""
    left, at = list(plan), 0
    while at < len(left):
        for more in (None, *range(at + 1, min(len(left), at + 8))):
            without = [a for i, a in enumerate(left) if i not in (at, more)]
            if _works(without, start, goal):
                left = without
                break
        else:
            at += 1
    return tuple(left)


def _works(plan: Sequence[Action], state: State, goal: Sequence[Literal]) -> bool:
    for action in plan:
        if not action.needs <= state:
            return False
        state = action.after(state)
    return state.issuperset(goal)


def _search(
    actions: Sequence[Action], start: State, goal: Sequence[Literal], most: int
) -> list[Action] | None:
    """Greedy best-first search: helpful actions before all others, then by the parent's estimate."""
    relaxed = _Relaxed(actions, goal)
    came: dict[State, tuple[State, int] | None] = {start: None}
    queue: list[tuple[bool, int, int, State]] = [(False, 0, 0, start)]
    nodes = 0
    while queue and nodes < most:
        state = heappop(queue)[3]
        nodes += 1
        if state.issuperset(goal):
            return _path(came, state, actions)
        found = relaxed.estimate(state)
        if found is None:
            continue
        length, helpful = found
        for number, action in enumerate(actions):
            if action.needs <= state:
                after = action.after(state)
                if after not in came:
                    came[after] = (state, number)
                    heappush(queue, (number not in helpful, length, len(came), after))
    return None


def _path(
    came: dict[State, tuple[State, int] | None], state: State, actions: Sequence[Action]
) -> list[Action]:
    found = []
    while (step := came[state]) is not None:
        state = step[0]
        found.append(actions[step[1]])
    return found[::-1]


class _Relaxed:
    """Plans that ignore what actions remove; their length is the estimate."""

    def __init__(self, actions: Sequence[Action], goal: Sequence[Literal]) -> None:
        names: dict[Literal, int] = {}
        for each in actions:
            for literal in (*sorted(each.needs), *sorted(each.adds)):
                names.setdefault(literal, len(names))
        for literal in goal:
            names.setdefault(literal, len(names))
        self._names = names
        self._goal = [names[literal] for literal in goal]
        self._needs = [[names[one] for one in sorted(each.needs)] for each in actions]
        self._adds = [[names[one] for one in sorted(each.adds)] for each in actions]
        self._users: list[list[int]] = [[] for _ in names]
        for number, needs in enumerate(self._needs):
            for one in needs:
                self._users[one].append(number)

    def estimate(self, state: State) -> tuple[int, set[int]] | None:
        """Length of a relaxed plan, and the actions that begin it; None if there is none."""
        by, costs = self._explored(state)
        if any(one not in costs for one in self._goal):
            return None
        chosen: set[int] = set()
        open_facts = list(self._goal)
        while open_facts:
            number = by.get(open_facts.pop(), -1)
            if number >= 0 and number not in chosen:
                chosen.add(number)
                open_facts += self._needs[number]
        return len(chosen), {n for n in chosen if all(by[one] < 0 for one in self._needs[n])}

    def _explored(self, state: State) -> tuple[dict[int, int], dict[int, int]]:
        """For each reachable fact the action that adds it at the least sum of costs (-1: it holds).

        It ends once the goal is reached.
        """
        costs = {self._names[one]: 0 for one in state if one in self._names}
        by = dict.fromkeys(costs, -1)
        missing = [len(needs) for needs in self._needs]
        sums = [1] * len(missing)
        queue = [(0, one) for one in sorted(costs)]
        for number, count in enumerate(missing):
            if not count:
                self._reach(number, 1, by, costs, queue)
        done: set[int] = set()
        open_goals = set(self._goal)
        while queue and open_goals:
            cost, one = heappop(queue)
            if one in done:
                continue
            done.add(one)
            open_goals.discard(one)
            for number in self._users[one]:
                missing[number] -= 1
                sums[number] += cost
                if not missing[number]:
                    self._reach(number, sums[number], by, costs, queue)
        return by, costs

    def _reach(
        self, number: int, cost: int, by: dict[int, int], costs: dict[int, int], queue: list[tuple[int, int]]
    ) -> None:  # fmt: skip
        for one in self._adds[number]:
            if cost < costs.get(one, cost + 1):
                costs[one], by[one] = cost, number
                heappush(queue, (cost, one))
