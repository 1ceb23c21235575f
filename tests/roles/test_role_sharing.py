"""Evidence of a role is private; what it shares, by channel, others recall and open. Opening by id respects it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from role_team import ANALYST, PLANNER, TeamState, memory, said, team, turn

from acc import (
    AsyncMemoryController,
    AsyncRoleMemory,
    Channel,
    InMemoryStore,
    MemoryController,
    Policy,
    Role,
    RoleMemory,
    Settings,
    Thread,
    Trust,
)
from acc.errors import ConflictError, InputError
from acc.evidence.documents import Documents
from acc.integrations.evidence_tool import evidence_tool
from acc.roles.sharing import KEY_DIGITS
from acc.state.proposal import Proposal
from acc.stores.directory import namespace

QUOTA = "The quota of shards in eu-west-1 is 500 for each account."
SECRET = "The negotiated price with the vendor is 31 EUR for each shard."
ASKED = said(Channel.USER, "What is the quota of shards in eu-west-1?")

PRIVATE = turn(
    said(Channel.TOOL, QUOTA, "aws"), said(Channel.USER, SECRET), said(Channel.AGENT, "Noted.")
)


def told(*shares: Channel, **given: object) -> RoleMemory:
    """A team whose planner has heard a tool and the user."""
    planner = replace(PLANNER, shares=frozenset(shares))
    of = RoleMemory(memory(), [planner, ANALYST], thread="pipeline", update_from="turn", **given)  # type: ignore[arg-type]
    of.update("planner", PRIVATE)
    return of


def refs_of(of: RoleMemory, role: str) -> Iterator[str]:
    """Every name under which a role's records could be asked for."""
    key = of.thread(role).key
    for ref in ("t1", "u1", "a1", "x1", "x1.1", "o1", "d1"):
        yield from (
            ref,
            f"{key[:8]}/{ref}",
            f"{key}/{ref}",
            f"{key[:4]}/{ref}",
            f"/{ref}",
            f"{key}.main/{ref}",
        )
    for seq in range(5):
        yield from (f"{key}.main:{seq}", f"{key[:8]}/{key}.main:{seq}", f"{key[:8]}/main:{seq}")


def test_by_default_no_role_opens_anothers_evidence_by_any_id() -> None:
    of = told()
    of.update("analyst", "A risk is cold starts.")
    for ref in refs_of(of, "planner"):
        try:
            text = of.open_evidence("analyst", ref)
        except InputError:
            continue
        assert text == "A risk is cold starts."  # a ref of its own
    assert of.open_evidence("planner", "u1") == SECRET


def test_by_default_nothing_of_another_role_is_recalled() -> None:
    of = told()
    step = of.update("analyst", turn(ASKED))
    assert not step.verdicts
    assert "500" not in of.reads("analyst")


def test_a_shared_channel_is_recalled_and_opened_and_the_others_are_not() -> None:
    of = told(Channel.TOOL)
    step = of.update("analyst", turn(ASKED, said(Channel.AGENT, "It is 500.")))
    ref = f"{of.thread('planner').key[:KEY_DIGITS]}/t1"
    assert [(e.ref, e.text, e.trust) for e in step.evidence] == [(ref, QUOTA, Trust.TOOL)]
    assert of.open_evidence("analyst", ref) == QUOTA
    opened = []
    for other in refs_of(of, "planner"):
        if "/" in other and other != ref:
            with pytest.raises(InputError, match="no evidence"):
                opened.append(of.open_evidence("analyst", other))
    assert not opened


def test_what_a_role_shares_is_not_shared_back() -> None:
    of = told(Channel.TOOL)
    of.update("analyst", turn(said(Channel.TOOL, "The analyst's own probe says 7.", "probe")))
    with pytest.raises(InputError):
        of.open_evidence("planner", f"{of.thread('analyst').key[:KEY_DIGITS]}/t1")


def test_shared_speech_is_a_document_that_bears_the_roles_name_and_makes_no_rule() -> None:
    rule = "Never use Lambda in eu-west-1, whatever the quota of shards is."
    of = told(Channel.USER, Channel.AGENT)
    of.update("planner", turn(said(Channel.USER, rule)))
    step = of.update("analyst", turn(ASKED))
    ref = f"{of.thread('planner').key[:KEY_DIGITS]}/u2"
    shared = [e for e in step.evidence if e.ref == ref]
    assert [(e.channel, e.name, e.trust) for e in shared] == [
        (Channel.DOCUMENT, "planner", Trust.DOCUMENT)
    ]
    cited = Proposal.model_validate(
        {
            "items": [
                {"slot": "constraints", "fields": {"text": rule, "quote": rule}, "cites": [ref]}
            ]
        }
    )
    of.memory("analyst").compressor = lambda *_: cited
    assert not of.update("analyst", turn(ASKED)).state.constraints


def test_items_that_left_a_roles_state_are_its_own_whatever_it_shares() -> None:
    of = told(*Channel)
    (rule,) = of.update("planner", turn(said(Channel.USER, "Never use Lambda."))).state.constraints
    of.memory("planner").retire([rule.id], thread=of.thread("planner"), state=of.state("planner"))
    of.update("planner", "Noted.")
    with of.memory("planner")._locked_log(of.thread("planner")) as log:
        gone = [a.ref for a in log.branch("main").artifacts if a.kind == "set_aside"]
    assert gone
    for ref in gone:
        with pytest.raises(InputError):
            of.open_evidence("analyst", f"{of.thread('planner').key[:KEY_DIGITS]}/{ref}")


def test_documents_of_a_roles_namespace_are_its_own_and_those_of_no_agent_are_everybodys(
    tmp_path: Path,
) -> None:
    controller = memory()
    of = RoleMemory(controller, [PLANNER, ANALYST], thread=Thread(thread="t", user="ana"))
    (tmp_path / "price.md").write_text(SECRET)
    (tmp_path / "quota.md").write_text(QUOTA)
    of_planner = Documents.of(controller, namespace(user="ana", agent="planner"))
    own = of_planner.ingest(tmp_path / "price.md")
    shared = Documents.of(controller, namespace(user="ana")).ingest(tmp_path / "quota.md")
    assert of.open_evidence("planner", own.ref) == SECRET
    assert (
        of.open_evidence("planner", shared.ref) == of.open_evidence("analyst", shared.ref) == QUOTA
    )
    with pytest.raises(InputError):
        of.open_evidence("analyst", own.ref)


def test_sharing_ends_at_the_conversation_the_user_and_the_tenant() -> None:
    controller = memory()
    planner = replace(PLANNER, shares=frozenset(Channel))
    home = Thread(thread="t", user="ana", tenant="acme")
    teams = [
        RoleMemory(
            controller, [planner, ANALYST], thread=home.model_copy(update=other), update_from="turn"
        )
        for other in (
            {},
            {"thread": "t2"},
            {"user": "bob"},
            {"tenant": "other"},
            {"agent": "second"},
        )
    ]
    first, *others = teams
    first.update("planner", PRIVATE)
    ref = f"{first.thread('planner').key[:KEY_DIGITS]}/t1"
    assert first.open_evidence("analyst", ref) == QUOTA
    for of in others:
        assert not of.update("analyst", turn(ASKED)).evidence
        with pytest.raises(InputError):
            of.open_evidence("analyst", ref)
    analyst, empty = first.memory("analyst"), TeamState.for_role("analyst").empty()
    with pytest.raises(InputError):  # its controller opens it for its own thread alone
        analyst.open_evidence(ref, empty, thread="elsewhere")


def test_the_evidence_tool_opens_what_the_role_may_see() -> None:
    of = told(Channel.TOOL)
    of.update("analyst", turn(ASKED, said(Channel.AGENT, "Noted.")))
    key = of.thread("planner").key[:KEY_DIGITS]
    tool = evidence_tool(of.memory("analyst"), identity=lambda _: of.thread("analyst"))

    class Runtime:
        def __init__(self) -> None:
            self.config = {"configurable": {}}
            self.state = {"ccs": of.state("analyst").canonical()}

    opened = tool.func
    assert opened is not None
    assert opened(f"{key}/t1", Runtime()) == QUOTA
    with pytest.raises(Exception, match="There is no evidence"):
        opened(f"{key}/u1", Runtime())


@settings(max_examples=3 * settings().max_examples)
@given(
    st.one_of(
        st.text(max_size=40), st.from_regex(r"[0-9a-f]{0,24}/?[a-z]?\d{0,2}(\.\d)?", fullmatch=True)
    )
)
def test_no_ref_at_all_opens_a_private_text(ref: str) -> None:
    try:
        assert QUOTA not in _PRIVATE_TEAM.open_evidence("analyst", ref)
    except InputError:
        return


_PRIVATE_TEAM = told()


def test_an_erased_text_is_not_read_from_another_roles_copy(tmp_path: Path) -> None:
    with MemoryController.open(tmp_path, schema=TeamState) as opened:
        planner = replace(PLANNER, shares=frozenset({Channel.TOOL}))
        of = RoleMemory(opened, [planner, ANALYST], thread="t", update_from="turn")
        of.update("planner", PRIVATE)
        ref = f"{of.thread('planner').key[:KEY_DIGITS]}/t1"
        assert of.open_evidence("analyst", ref) == QUOTA
        store, key = opened.artifacts, of.thread("planner").key
        ids = [i for i in store.ids("default", thread=key) if i.endswith(":1")]
        (record,) = store.get("default", ids)
        store.replace(
            "default",
            [record.model_copy(update={"kind": "tombstone", "text": "", "reason": "erased"})],
        )
        opened._forget()
        with pytest.raises(InputError):
            of.open_evidence("analyst", ref)


def test_roles_in_parallel_threads_lose_nothing_and_share_nothing() -> None:
    roles = [Role(f"worker {n}") for n in range(6)]
    of = RoleMemory(MemoryController(InMemoryStore()), roles, thread="t")

    def work(role: Role) -> None:
        for n in range(8):
            of.update(
                role.name,
                f"The {role.name} has measured a latency of {n} ms on host {role.name[-1]}-{n}.",
            )

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, roles))
    for role in roles:
        state = of.state(role.name)
        assert (state.turn, state.branch) == (8, "main")
        others = {f"host {other.name[-1]}-" for other in roles if other is not role}
        assert not any(word in of.reads(role.name) for word in others)
        assert all(
            f"host {role.name[-1]}-{n}" in of.open_evidence(role.name, f"a{n + 1}")
            for n in range(8)
        )


def test_a_second_update_of_a_role_at_once_is_a_conflict_that_loses_nothing() -> None:
    of = team()
    inside, go = threading.Event(), threading.Event()

    def slow(*_: object) -> Proposal:
        inside.set()
        go.wait(10)
        return Proposal()

    of.memory("planner").compressor = slow
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(of.update, "planner", "We use Kinesis because it scales.")
        assert inside.wait(10)
        with pytest.raises(ConflictError, match="another update of 'planner' is running"):
            of.update("planner", "We use Lambda because it is cheap.")
        of.update("analyst", "A risk is cold starts.")  # another role goes on
        go.set()
        assert first.result(10).state.turn == 1
    assert of.update("planner", "We use Lambda because it is cheap.").state.turn == 2


def test_async_a_cancelled_update_is_read_with_the_next_one() -> None:
    async def run() -> None:
        begun = asyncio.Event()

        class Hanging:
            def __call__(self, *_: object) -> Proposal:
                raise AssertionError("the asynchronous one is awaited")

            async def acompress(self, *_: object) -> Proposal:
                begun.set()
                await asyncio.Event().wait()
                raise AssertionError

        settings = Settings(policy=Policy(schema=TeamState))
        controller = AsyncMemoryController(InMemoryStore(), settings=settings)
        of = AsyncRoleMemory(controller, [PLANNER, ANALYST], thread="t")
        of.memory("planner").compressor = Hanging()
        task = asyncio.create_task(of.update("planner", "We use Kinesis because it scales."))
        await begun.wait()
        with pytest.raises(ConflictError):
            await of.update("planner", "We use Lambda because it is cheap.")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        of.memory("planner").compressor = None
        step = await of.update("planner", "We use Lambda because it is cheap.")
        assert step.recovered == ("a1",)
        assert {item.what for item in step.state.decisions} == {"Kinesis", "Lambda"}

    asyncio.run(run())
