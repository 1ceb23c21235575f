"""The promises of `acc.stores.protocol.ArtifactStore`, each as a function that tries to break it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from acc.errors import StoreError
from acc.stores.protocol import RECORD_BYTES, Artifact, ArtifactStore, Thread, artifact_id
from acc.turn.observations import Channel, Trust

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

    def artifact(self, seq: int, text: str = "", *, thread: str = "main") -> Artifact:
        key = Thread(thread=thread, tenant=self.tenant).key
        id_ = artifact_id(key, "main", seq)
        return Artifact(id=id_, thread=key, branch="main", seq=seq, turn=seq, text=text)

    def expect(self, wanted: Sequence[Artifact], ids: Sequence[str] = (), tenant: str = "") -> None:
        """Require that reading ``ids``, by default those of ``wanted``, returns ``wanted``."""
        asked = list(ids) or [artifact.id for artifact in wanted]
        got = self.store.get(tenant or self.tenant, asked)
        _require(isinstance(got, list), f"get() returned a {type(got).__name__}, not a list")
        had, read = [artifact.id for artifact in wanted], [artifact.id for artifact in got]
        _require(had == read, f"expected the ids {had!r:.200}, in this order, got {read!r:.200}")
        for one, other in zip(wanted, got, strict=True):
            for name in Artifact.model_fields:
                put, back = getattr(one, name), getattr(other, name)
                _require(put == back, f"{name} was {put!r:.200} and came back as {back!r:.200}")


def _interface(case: Case) -> None:
    """It is an ArtifactStore."""
    _require(isinstance(case.store, ArtifactStore), "a method of the protocol is missing")
    _require(isinstance(case.store.shared, bool), "shared is not a bool")


def _nothing(case: Case) -> None:
    """Calls with nothing do nothing."""
    case.store.add(case.tenant, [])
    _require(not case.store.get(case.tenant, []), "get() of no ids found something")
    _require(not case.store.get(case.tenant, ["absent"]), "get() found what was never added")


def _first_wins(case: Case) -> None:
    """The first record of an id stays."""
    one, two, three = (case.artifact(seq, "first", thread="wins") for seq in (1, 2, 3))
    case.store.add(case.tenant, [one])
    case.store.add(case.tenant, [one])
    case.expect([one])
    case.store.add(case.tenant, [case.artifact(1, "later", thread="wins"), two])
    case.expect([one, two])
    case.store.add(case.tenant, (three, case.artifact(3, "later", thread="wins"), three))
    case.expect([three])


def _order(case: Case) -> None:
    """``get`` keeps the order asked, once for each time asked, and leaves out what is absent."""
    a, b, c = (case.artifact(seq, thread="order") for seq in (3, 1, 2))
    case.store.add(case.tenant, [a, b, c])
    case.expect([c, a, b])
    case.expect([b, a, c])
    case.expect([a, b, a], ids=("absent", a.id, "", b.id, a.id, "\ud800", "x" * 500))


def _many(case: Case) -> None:
    """Any number of ids are read at once."""
    asked = [case.artifact(seq, f"number {seq}", thread="many") for seq in range(MANY, 0, -1)]
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
    full = case.artifact(1, "text", thread="fields").model_copy(
        update={"turn": 7, "ref": "t7.1", "part": 2, "parts": 3, "name": "search"}
        | {
            "call_id": "call_1",
            "message": "m1",
            "identity": "0f" * 32,
            "reason": "room",
            "branch": "b.2:1",
        }
        | {"sources": ("u1", "t7.1"), "at": "2026-01-31T23:59:59.999999+00:00"}
    )
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
    """What a store cannot keep whole it refuses with a StoreError."""
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
    """Tenants do not see each other's records."""
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
    """Many threads of a process may use it at once."""
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
    _require(len(seen[0]) == len(races), "a record that several threads added is missing")
    _require(all(view == seen[0] for view in seen), "threads that raced see different records")


def ends(case: Case, kept: Sequence[Artifact]) -> None:
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
        raise AssertionError("a closed store was used without a StoreError")


PROMISES: tuple[Callable[[Case], None], ...] = (
    _interface,
    _nothing,
    _first_wins,
    _order,
    _many,
    _long,
    _unicode,
    _fields,
    _hostile,
    _tenants,
    _threads,
    _concurrent,
)


def _require(condition: bool, breach: str) -> None:
    if not condition:
        raise AssertionError(breach)
