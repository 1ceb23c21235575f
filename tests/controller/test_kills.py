"""A process is killed at every statement and every commit of every act; the act, repeated, has the same end.

Each act runs in a child, which ends itself at a statement without any clean-up, as a kill would. Then the act is
repeated, and has to leave what an undisturbed run leaves: the same states by hash, each word once, everything
recomputed.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event

from acc import Board, MemoryController, Turn
from acc.board.memory import BoardMemory
from acc.evidence.evidence import Evidence
from acc.evidence.target import Target
from acc.journal import Journal, ThreadKey
from acc.journal.boards import BoardState
from acc.journal.journal import FILE
from acc.models.protocol import Completion, Usage
from acc.state.policy import Cadence, Policy
from acc.testing import FixedClock
from acc.turn.observations import Channel, Observation

RULE = "Never page Ann before 6."
PUMP = "The pump in hall 4 is broken."
KILLED = 9

Act = Callable[[Path], None]


class _Model:
    """Makes a fact of the third turn."""

    name, price = "m", None

    def complete(self, messages: Any, schema: Any) -> Completion:
        facts = [{"text": "pump: asked about", "refs": ["u3"]}] if "u3" in str(messages) else []
        return Completion(json.dumps({"facts": facts}), Usage(requests=1), self.name)

    async def acomplete(self, messages: Any, schema: Any) -> Completion:
        return self.complete(messages, schema)


def _open(folder: Path, **how: Any) -> MemoryController[Any]:
    given = {
        "policy": Policy(cadence=Cadence(compress_over=0)),
        "clock": FixedClock(),
        "index": "none",
        **how,
    }
    return MemoryController.open(folder, **given)


def _talk(folder: Path, *said: str, thread: str = "t", **how: Any) -> None:
    with _open(folder, **how) as memory:
        state = memory.last_state(thread) or memory.policy.schema.empty()
        for each in said:
            state = memory.step(state, Turn.said(each), thread=thread).state


def _agent(text: str) -> list[Observation]:
    return [Observation(channel=Channel.AGENT, text=text)]


def _step(folder: Path) -> None:
    with _open(folder) as memory:
        memory.step(memory.state_at("t", 2), Turn.said("What now?"), thread="t")


def _step_with_a_model(folder: Path) -> None:
    with _open(folder, model=_Model()) as memory:
        memory.step(memory.state_at("t", 2), Turn.said("What now?"), thread="t")


def _record_and_step(folder: Path) -> None:
    with _open(folder, model=_Model()) as memory:
        state = memory.state_at("t", 2)
        memory.record(_agent("I look at it."), thread="t", state=state)
        said = (*_agent("I look at it."), *Turn.said("And?").observations)
        memory.step(state, Turn(observations=said), thread="t")


def _retire(folder: Path) -> None:
    with _open(folder) as memory:
        state = memory.last_state("t")
        if state is not None and state.constraints:
            memory.retire([state.constraints[0].id], thread="t")


def _flush(folder: Path) -> None:
    with _open(
        folder, model=_Model(), policy=Policy(cadence=Cadence(compress_over=10_000))
    ) as memory:
        memory.step(memory.state_at("t", 2), Turn.said("What now?"), thread="t")
        memory.flush("t")


def _fork(folder: Path) -> None:
    with _open(folder) as memory:
        memory.step(memory.state_at("t", 1), Turn.said("Another way."), thread="t")


def _behind(folder: Path) -> None:
    with _open(folder, model=_Model(), behind=True) as memory:
        memory.step(memory.state_at("t", 2), Turn.said("What now?"), thread="t")
        memory.settle(30)
        memory.flush("t")


FULL = Policy(max_tokens=100)
RULES = [f"Never ever do thing number {n} without asking Ann first, please." for n in range(3)]


def _before_room(folder: Path) -> None:
    _talk(folder, *RULES[:2], thread="room", policy=FULL)


def _room(folder: Path) -> None:
    asked = []

    def oldest(overflow: Any) -> list[str]:
        asked.append(overflow)
        return [rule.id for rule in overflow.step.state.constraints][:1]

    with _open(folder, policy=FULL, on_overflow=oldest) as memory:
        memory.step(memory.state_at("room", 2), Turn.said(RULES[2]), thread="room")


def _before_adopt(folder: Path) -> None:
    newer = shutil.copytree(folder, folder.with_name("newer"))
    _talk(newer, "Said after the backup.")


def _adopt(folder: Path) -> None:
    key = b"k" * 32
    with _open(folder.with_name("newer"), state_key=key) as memory:
        state = memory.signed(memory.last_state("t"), thread="t")
    with _open(folder, state_key=key) as memory:
        memory.step(state, Turn.said("What now?"), thread="t")


def _erase(folder: Path) -> None:
    with _open(folder) as memory:
        Evidence(memory).erase(Target("t", refs=("u2",)))


def _erase_thread(folder: Path) -> None:
    with _open(folder) as memory:
        Evidence(memory).erase(Target("t"))


def _before_ingest(folder: Path) -> None:
    with _open(folder) as memory:
        Evidence(memory).ingest_text("runbook", f"{PUMP} " * 30)


def _ingest(folder: Path) -> None:
    with _open(folder) as memory:
        Evidence(memory).ingest_text("runbook", "A newer text.", replace=True)


def _expire(folder: Path) -> None:
    with _open(folder, clock=FixedClock(datetime(2030, 1, 1, tzinfo=UTC))) as memory:
        Evidence(memory).expire(timedelta(days=1))


def _before_import(folder: Path) -> None:
    _talk(folder.with_name("other"), RULE, PUMP, thread="moved")


def _import(folder: Path) -> None:
    with Journal.open(folder.with_name("other")) as journal:
        lines = list(journal.export("moved"))
    with _open(folder) as memory:
        if not memory.journal.head("moved").hash:
            memory.journal.import_(lines)


def _shared(folder: Path) -> None:
    with _open(folder) as memory:
        board = BoardMemory(memory, Board("crew"))
        start = memory.policy.schema.empty()
        said = Turn.said("Everybody: always wash your hands.")
        board.step(start, said, thread=ThreadKey("t2", user="ann", agent="nurse"), to="all")


def _first_open(folder: Path) -> None:
    with _open(folder.with_name("new")) as memory:
        memory.step(memory.policy.schema.empty(), Turn.said(RULE), thread="t")


BEFORE: dict[str, Act] = {
    "room": _before_room, "adopt": _before_adopt, "import": _before_import,
    "ingest": _before_ingest,
}  # fmt: skip
ACTS: dict[str, Act] = {
    each.__name__.strip("_"): each
    for each in (
        _step, _step_with_a_model, _record_and_step, _retire, _flush, _fork, _behind, _room, _adopt,
        _erase, _erase_thread, _ingest, _expire, _import, _shared, _first_open,
    )
}  # fmt: skip


def _child(work: Callable[[], None]) -> int:
    """Run something in a child; return how the child ended: 0, `KILLED`, or 1 for an error."""
    pid = os.fork()
    if not pid:
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _dying(act: Callable[[Path], None], folder: Path, at: int) -> None:
    """Do an act, and end the process at a point: before a statement, or after a commit."""
    passed = 0

    def point(*_: Any) -> None:
        nonlocal passed
        passed += 1
        if passed > at:
            os._exit(KILLED)

    def after(_: Any, __: Any, statement: str, *___: Any) -> None:
        if statement == "COMMIT":
            point()

    event.listen(Engine, "before_cursor_execute", point)
    event.listen(Engine, "after_cursor_execute", after)
    act(folder)


def _end_of(folder: Path) -> dict[str, Any]:
    """Return what a memory holds: heads by hash, and the words that commits took, by count."""
    found: dict[str, Any] = {}
    for each in (folder, folder.with_name("new")):
        if not (each / FILE).exists():
            continue
        with Journal.open(each) as journal:
            heads = {f"{h.thread} {h.branch}": h.hash for h in journal.heads()}
            said = Counter(
                (str(key), head.branch, m.message.text)
                for key in journal.threads() for head in journal.branches(key)
                for m in journal.messages(key, branch=head.branch) if m.branch == head.branch
            )  # fmt: skip
            policies = [Policy(), FULL, Policy(schema=BoardState)]
            assert [str(d) for d in journal.verify(policies).damages] == []
            found[each.name] = heads, said
    return found


def _kills(act: Act, place: Path, every: int, before: Act | None = None) -> int:
    base = place / "base" / "memory"
    assert _child(lambda: _talk(base, RULE, PUMP)) == 0
    if before is not None:
        assert _child(lambda: before(base)) == 0
    calm = shutil.copytree(place / "base", place / "calm") / "memory"
    assert _child(lambda: act(calm)) == 0
    expected = _end_of(calm)
    for number, at in enumerate(range(0, 10_000, every)):
        folder = shutil.copytree(place / "base", place / f"kill-{at}") / "memory"
        code = _child(lambda f=folder, n=at: _dying(act, f, n))  # type: ignore[misc]
        assert code in (0, KILLED)
        if code == 0:
            return number
        assert _child(lambda f=folder: act(f)) == 0, f"repeated after a kill at {at}"  # type: ignore[misc]
        assert _end_of(folder) == expected, f"killed at {at}"
        assert _child(lambda f=folder: _talk(f, "And on.")) == 0  # type: ignore[misc]
        shutil.rmtree(place / f"kill-{at}")
    raise AssertionError("the act never ended")


@pytest.mark.slow
@pytest.mark.parametrize("name", ACTS)
def test_an_act_that_is_killed_anywhere_and_repeated_has_the_same_end(
    tmp_path: Path, name: str
) -> None:
    """``ACC_KILLS=all`` kills at each point, which takes minutes; else at every fifth."""
    every = 1 if os.environ.get("ACC_KILLS") == "all" else 5
    killed = _kills(ACTS[name], tmp_path, every, BEFORE.get(name))
    assert killed > 5
    print(f"{name}: {killed} kills")


def test_a_step_that_is_killed_here_and_there_has_the_same_end(tmp_path: Path) -> None:
    assert _kills(_step_with_a_model, tmp_path, 7) > 2
