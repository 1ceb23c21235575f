"""`check_store`: tests that a backend keeps the promises of the store protocols.

Each promise is a function that tries to break it. Its docstring states the promise.
"""

from __future__ import annotations

import uuid
from array import array
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from threading import Barrier
from typing import TypeVar, cast

from acc.errors import StoreError
from acc.stores.protocol import (
    RECORD_BYTES,
    Artifact,
    ArtifactStore,
    DenseStore,
    ManagedStore,
    SearchableStore,
    Thread,
    artifact_id,
)
from acc.turn.observations import Channel, Trust

T = TypeVar("T")


def check_store(open_store: Callable[[], ArtifactStore], *, reopens: bool = True) -> None:
    """Test that a backend keeps the promises of `acc.stores.protocol.ArtifactStore`.

    Call it in a test of any framework: ``check_store(lambda: MyStore(path))``. It also tests the
    promises of `acc.stores.protocol.ManagedStore`, `acc.stores.protocol.SearchableStore` and
    `acc.stores.protocol.DenseStore` if the store implements them. Each run uses new tenants,
    which makes it safe for a store that holds data.

    Args:
        open_store: Opens the store; called again after the store was closed.
        reopens: Whether the reopened store must hold the earlier records.

    Raises:
        AssertionError: A promise is broken; the error names the first one and how it failed.
    """
    case = Case(_tested("The store opens.", open_store))
    try:
        promises = PROMISES
        if isinstance(case.store, ManagedStore):
            promises = (*promises, *MANAGED)
        if isinstance(case.store, SearchableStore):
            promises = (*promises, _contains)
        if isinstance(case.store, DenseStore):
            promises = (*promises, _dense)
        for promise in promises:
            _tested(promise.__doc__ or "", partial(promise, case))
        kept = case.artifacts(3, "kept")
        _tested("The store can be closed twice, and stays closed.", partial(_closes, case, kept))
        if reopens:
            case.store = _tested("The store opens again.", open_store)
            _tested("Records are still there after a reopening.", partial(case.expect, kept))
    except BaseException:
        with suppress(Exception):  # report the first breach only
            case.store.close()
        raise
    _tested("The store closes after use.", case.store.close)


def tested(what: str, promise: str | None, act: Callable[[], T]) -> T:
    """Return the result of ``act``; an AssertionError says which promise it broke, and how."""
    try:
        return act()
    except Exception as error:
        kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
        raise AssertionError(f"{what} breaks a promise: {promise} {kind}{error}") from error


_tested = partial(tested, "The store")


MANY = 2_000
"""Number of ids in one large call of ``get``; every fourth exists."""

WORKERS = 8

_TEXTS = (
    "",
    " spaces around and\r\nbroken \t lines \n\n",
    "Größe, naïve, İstanbul, ﬁ, e\u0301 is not \u00e9",
    "日本語の文 한국어 العربية עברית हिन्दी",
    "👩‍👩‍👧‍👦 🇨🇭 \U0001f9ec",
    "\u202eright to left\u202c \u200b\u200d\ufeff \u2028 \u2029",
    "\x00\x01\x1b[31m\x7f\x85 controls",
    "\ufffd \ufffe \uffff \U0010ffff",
    "'; DROP TABLE records; -- \" \\ %s {} ${x} <b>&amp;",
    "null",
)


class Case:
    """A store under test, and names that no other run uses."""

    def __init__(self, store: ArtifactStore) -> None:
        self.store = store
        self.tenant = f"check_store {uuid.uuid4()}"

    @property
    def managed(self) -> ManagedStore:
        return cast(ManagedStore, self.store)

    def artifact(self, seq: int, text: str = "", *, thread: str = "main") -> Artifact:
        key = Thread(thread=thread, tenant=self.tenant).key
        id_ = artifact_id(key, "main", seq)
        return Artifact(id=id_, thread=key, branch="main", seq=seq, turn=seq, text=text)

    def artifacts(self, count: int, thread: str) -> list[Artifact]:
        return [self.artifact(n, f"{thread} {n}", thread=thread) for n in range(1, count + 1)]

    def expect(self, wanted: Sequence[Artifact], ids: Sequence[str] = (), tenant: str = "") -> None:
        """Require that reading ``ids``, by default those of ``wanted``, returns ``wanted``."""
        asked = list(ids) or [artifact.id for artifact in wanted]
        got = self.store.get(tenant or self.tenant, asked)
        require(isinstance(got, list), f"get() returned a {type(got).__name__}, not a list")
        had, read = [artifact.id for artifact in wanted], [artifact.id for artifact in got]
        require(had == read, f"expected the ids {had!r:.200}, in this order, got {read!r:.200}")
        for one, other in zip(wanted, got, strict=True):
            for name in Artifact.model_fields:
                put, back = getattr(one, name), getattr(other, name)
                require(put == back, f"{name} was {put!r:.200} and came back as {back!r:.200}")


def _interface(case: Case) -> None:
    """The store implements ArtifactStore."""
    require(isinstance(case.store, ArtifactStore), "a method of the protocol is missing")
    require(isinstance(case.store.shared, bool), "shared is not a bool")


def _nothing(case: Case) -> None:
    """Adding or getting nothing does nothing."""
    case.store.add(case.tenant, [])
    require(not case.store.get(case.tenant, []), "get() of no ids found something")
    require(not case.store.get(case.tenant, ["absent"]), "get() found an absent record")


def _first_wins(case: Case) -> None:
    """The first record of an id is kept."""
    one, two, three = (case.artifact(seq, "first", thread="wins") for seq in (1, 2, 3))
    case.store.add(case.tenant, [one])
    case.store.add(case.tenant, [one])
    case.expect([one])
    case.store.add(case.tenant, [case.artifact(1, "later", thread="wins"), two])
    case.expect([one, two])
    case.store.add(case.tenant, (three, case.artifact(3, "later", thread="wins"), three))
    case.expect([three])


def _order(case: Case) -> None:
    """``get`` returns records in the order of the ids, repeats included, without absent ones."""
    a, b, c = (case.artifact(seq, thread="order") for seq in (3, 1, 2))
    case.store.add(case.tenant, [a, b, c])
    case.expect([c, a, b])
    case.expect([b, a, c])
    case.expect([a, b, a], ids=("absent", a.id, "", b.id, a.id, "\ud800", "x" * 500))


def _many(case: Case) -> None:
    """``get`` accepts any number of ids."""
    asked = case.artifacts(MANY, "many")[::-1]
    records = asked[::4]
    case.store.add(case.tenant, records[::-1])
    case.expect(records, ids=[artifact.id for artifact in asked])


def _long(case: Case) -> None:
    """A text of RECORD_BYTES is kept whole."""
    units = ("x", "é", "語", "🧬", "word ", "\x01")
    texts = [unit * (RECORD_BYTES // len(unit.encode())) for unit in units]
    records = [case.artifact(seq, text, thread="long") for seq, text in enumerate(texts, 1)]
    case.store.add(case.tenant, records)
    case.expect(records)


def _unicode(case: Case) -> None:
    """Every character is kept."""
    records = [case.artifact(seq, text, thread="unicode") for seq, text in enumerate(_TEXTS, 1)]
    for index, text in enumerate(_TEXTS):
        update = {"name": text, "call_id": text, "reason": text, "sources": (text, "", text)}
        update["message"] = text
        records[index] = records[index].model_copy(update=update)
    case.store.add(case.tenant, records)
    case.expect(records)


def _fields(case: Case) -> None:
    """Every field is kept."""
    full = case.artifact(1, "text", thread="fields").model_copy(update={
        "turn": 7, "ref": "t7.1", "part": 2, "parts": 3, "name": "search", "call_id": "call_1",
        "message": "m1", "identity": "0f" * 32, "reason": "room", "branch": "b.2:1",
        "sources": ("u1", "t7.1"), "at": "2026-01-31T23:59:59.999999+00:00",
    })  # fmt: skip
    updates: list[dict[str, object]] = [{"channel": channel} for channel in Channel]
    updates += [{"trust": trust} for trust in Trust]
    updates += [{"kind": kind} for kind in ("observation", "set_aside", "branch", "successor")]
    updates += [{"seq": 0, "turn": 0, "part": 0, "parts": 1}, {"seq": 2**53 + 1, "turn": -1}]
    updates += [{"thread": "", "branch": "", "id": f"{full.id} and more"}]
    records = [
        full.model_copy(update={"id": f"{full.id}.{index}", **update})
        for index, update in enumerate(updates)
    ]
    case.store.add(case.tenant, records)
    case.expect(records)


def _hostile(case: Case) -> None:
    """A record that the store cannot keep unchanged raises a StoreError."""
    updates: list[dict[str, object]] = [
        {"text": "x" * (RECORD_BYTES + 1)},
        {"text": "a lone \ud800 surrogate"},
        {"name": "\udfff"},
        {"name": "n" * 5_000, "call_id": "语" * 5_000},
        {"reason": "r" * 100_000},
        {"sources": tuple(f"t{turn}" for turn in range(5_000))},
        {"id": f"{case.tenant} {'i' * 1_000}"},
        {"id": f"{case.tenant} ünïcode \n"},
        {"seq": 2**80},
    ]
    for index, update in enumerate(updates):
        record = case.artifact(index, thread="hostile").model_copy(update=update)
        try:
            case.store.add(case.tenant, [record])
        except StoreError:
            case.expect([], ids=[record.id])
        else:
            case.expect([record])


def _tenants(case: Case) -> None:
    """A tenant does not see the records of another tenant."""
    others = [f"{case.tenant} ", f"{case.tenant}/é", case.tenant.upper(), case.tenant * 20]
    record = case.artifact(1, "of the first", thread="tenants")
    case.store.add(case.tenant, [record])
    for other in others:
        case.expect([], ids=[record.id], tenant=other)
        case.store.add(other, [record.model_copy(update={"text": f"of {other}"})])
    for other in others:
        case.expect([record.model_copy(update={"text": f"of {other}"})], tenant=other)
    case.expect([record])


def _threads(case: Case) -> None:
    """Threads of one tenant do not mix."""
    records = [case.artifact(1, name, thread=name) for name in ("a", "b", "a b", "A")]
    for record in records:
        case.store.add(case.tenant, [record])
    for record in records:
        case.expect([record])


def _concurrent(case: Case) -> None:
    """Several threads of a process can use the store at once."""
    start = Barrier(WORKERS)

    def work(worker: int) -> list[Artifact]:
        own = [case.artifact(seq, f"{worker}", thread=f"of {worker}") for seq in range(1, 21)]
        start.wait()
        for first in range(0, len(own), 5):
            shared = case.artifact(first, f"by {worker}", thread="raced")
            case.store.add(case.tenant, [*own[first : first + 5], shared])
            case.expect(own[: first + 5])
        return case.store.get(case.tenant, [raced.id for raced in races])

    races = [case.artifact(first, thread="raced") for first in range(0, 20, 5)]
    with ThreadPoolExecutor(WORKERS) as pool:
        seen = list(pool.map(work, range(WORKERS)))
    require(len(seen[0]) == len(races), "a record that several threads added is missing")
    require(all(view == seen[0] for view in seen), "threads that raced see different records")


def _lists(case: Case) -> None:
    """``ids`` lists the ids of one tenant, sorted, by kind and by thread."""
    store, tenant = case.managed, f"{case.tenant} listed"
    records = [case.artifact(seq, "listed", thread=f"list {seq % 2}") for seq in range(1, 131)]
    records[4] = records[4].model_copy(update={"kind": "document"})
    odd = records[6].model_copy(update={"id": f"{'ü' * 3000} is no plain id"})
    records[6] = odd
    store.add(tenant, records)
    require(store.ids(f"{tenant} other") == [], "ids() of a tenant without records found some")
    require(store.ids(tenant) == sorted(a.id for a in records), "ids() is not all ids, sorted")
    require(store.ids(tenant, kind="document") == [records[4].id], "ids(kind=) returned other ids")
    thread = records[0].thread
    own = sorted(a.id for a in records if a.thread == thread)
    require(
        store.ids(tenant, thread=thread) == own,
        "ids(thread=) returned other ids",
    )
    both = store.ids(tenant, thread=thread, kind="observation")
    require(both == [i for i in own if i != records[4].id], "ids() by both returned other ids")


def _replaces(case: Case) -> None:
    """``replace`` replaces every field of a record."""
    store = case.managed
    full = case.artifact(1, "the old words", thread="replaced").model_copy(update={
        "name": "n", "call_id": "c", "message": "m", "reason": "r", "sources": ("u1",), "ref": "u1",
        "part": 1, "parts": 2, "identity": "i", "at": "2026-01-01", "branch": "main",
    })  # fmt: skip
    bare = case.artifact(1, "", thread="replaced").model_copy(update={"kind": "tombstone"})
    fresh = case.artifact(2, "new", thread="replaced")
    store.add(case.tenant, [full])
    store.replace(case.tenant, [bare, fresh])
    case.expect([bare, fresh])
    store.replace(case.tenant, [bare])
    store.add(case.tenant, [full])
    case.expect([bare, fresh])
    store.replace(case.tenant, [full])
    case.expect([full])


def _deletes(case: Case) -> None:
    """``delete`` deletes the given records only, also twice; their ids can be used again."""
    store = case.managed
    records = case.artifacts(250, "deleted")
    store.add(case.tenant, records)
    gone = [a.id for a in records[::2]]
    store.delete(case.tenant, [*gone, "absent"])
    store.delete(case.tenant, gone)
    store.delete(f"{case.tenant} absent", gone)
    case.expect(records[1::2], ids=[a.id for a in records])
    again = records[0].model_copy(update={"text": "another"})
    store.add(case.tenant, [again])
    case.expect([again])


def _compacts(case: Case) -> None:
    """``compact`` loses no record, and records can be added after it."""
    store = case.managed
    records = case.artifacts(130, "compacted")
    store.add(case.tenant, records)
    store.delete(case.tenant, [records[0].id])
    require(isinstance(store.compact(), bool), "compact() does not return a bool")
    late = case.artifact(500, "added after", thread="compacted")
    store.add(case.tenant, [late])
    case.expect([*records[1:], late])


def _contains(case: Case) -> None:
    """``containing`` finds a word in any case, in the texts as they are now, of this tenant only."""
    store, case = cast(SearchableStore, case.store), Case(case.store)  # a tenant of its own
    texts = ("Never restart db-7.", "the RESTARTED node", "Größe, 東京の天気", "no", "")
    records = [case.artifact(n, text, thread="words") for n, text in enumerate(texts, 1)]
    store.add(case.tenant, records)

    def expect(word: str, *places: int) -> None:
        wanted = sorted(records[place].id for place in places)
        got = store.containing(case.tenant, word)
        require(got == wanted, f"containing({word!r}) returned {got!r:.200}, not {wanted!r:.200}")

    expect("restart", 0, 1)
    expect("größe", 2)
    expect("東京", 2)
    expect("no", 1, 3)
    expect("absent")
    store.replace(case.tenant, [records[0].model_copy(update={"text": "another"})])
    store.delete(case.tenant, [records[3].id])
    expect("restart", 1)
    expect("no", 0, 1)
    require(not store.containing(f"{case.tenant} other", "no"), "containing() mixes tenants")


def _dense(case: Case) -> None:
    """Dense vectors are kept by tenant and embedder, and deleted with their text."""
    store = cast(DenseStore, case.store)
    records = case.artifacts(130, "dense")
    ids = [a.id for a in records]
    made = {id_: array("f", [n, 1.0, 2.0]).tobytes() for n, id_ in enumerate(ids)}
    store.add(case.tenant, records)
    require(store.dense(case.tenant, "one:3", ids) == {}, "dense() found absent vectors")
    store.keep_dense(case.tenant, "one:3", made)
    store.keep_dense(case.tenant, "two:1", {ids[0]: array("f", [7.0]).tobytes()})
    require(store.dense(case.tenant, "one:3", [*ids, "absent"]) == made, "dense() lost a vector")
    require(
        not store.dense(f"{case.tenant} other", "one:3", ids),
        "dense() mixes tenants",
    )
    store.delete(case.tenant, ids[1:3])
    store.replace(case.tenant, [records[0].model_copy(update={"text": "another"})])
    left = {id_: made[id_] for id_ in ids[3:]}
    require(
        store.dense(case.tenant, "one:3", ids) == left,
        "a vector outlived its text",
    )
    require(
        store.dense(case.tenant, "two:1", ids) == {},
        "a vector outlived its text",
    )
    store.compact()
    require(store.dense(case.tenant, "one:3", ids) == left, "compact() lost a dense vector")
    again = array("f", [9.0, 9.0, 9.0]).tobytes()
    store.keep_dense(case.tenant, "one:3", {ids[3]: again})
    require(
        store.dense(case.tenant, "one:3", ids[3:4]) == {ids[3]: again},
        "keep_dense() kept the old one",
    )


def _closes(case: Case, kept: Sequence[Artifact]) -> None:
    case.store.add(case.tenant, kept)
    case.store.close()
    case.store.close()
    uses: tuple[Callable[[], object], ...] = (
        lambda: case.store.get(case.tenant, [kept[0].id]),
        lambda: case.store.add(case.tenant, kept),
    )
    for use in uses:
        try:
            use()
        except StoreError:
            continue
        raise AssertionError("using a closed store raised no StoreError")


PROMISES: tuple[Callable[[Case], None], ...] = (
    _interface, _nothing, _first_wins, _order, _many, _long, _unicode, _fields, _hostile,
    _tenants, _threads, _concurrent,
)  # fmt: skip
MANAGED: tuple[Callable[[Case], None], ...] = (_lists, _replaces, _deletes, _compacts)


def require(condition: bool, breach: str) -> None:
    """Raise an AssertionError unless ``condition`` holds."""
    if not condition:
        raise AssertionError(breach)
