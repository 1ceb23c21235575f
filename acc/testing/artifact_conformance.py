"""`check_artifacts`: tests that a backend keeps the promises of `acc.artifacts.protocol.ArtifactStore`.

Each promise is a function that tries to break it. Its docstring states the promise.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from acc.artifacts.protocol import Artifact, ArtifactStore
from acc.artifacts.rows import lane_of
from acc.errors import StoreError
from acc.journal import ThreadKey
from acc.state.tail import Message
from acc.turn.observations import Channel, Observation


def check_artifacts(make: Callable[[], ArtifactStore]) -> None:
    """Test that a backend keeps the promises of an artifact store.

    Call it in a test of any framework: ``check_artifacts(lambda: MyStore(path))``. Each run uses threads of new
    names, which makes it safe for a store that holds data.

    Raises:
        AssertionError: A promise is broken; the error names it.
    """
    store = make()
    try:
        for promise in PROMISES:
            try:
                promise(store, ThreadKey(uuid.uuid4().hex))
            except StoreError as error:
                raise AssertionError(f"{promise.__doc__} {error}") from error
    finally:
        store.close()
        store.close()
    try:
        store.count()
    except StoreError:
        return
    raise AssertionError("The use of a closed store raises a StoreError.")


def said(seq: int, text: str, branch: str = "main", **fields: object) -> Artifact:
    """Return a user's message in a row of its own."""
    given = {"channel": Channel.USER, "ref": f"u{seq}", "text": text, **fields}
    message = Message(Observation.model_validate(given), seq, "2026-03-04T10:00:00Z")
    return Artifact(message, branch, seq)


def kept(artifact: Artifact) -> Artifact:
    """Return what a store gives back of a message."""
    seen = artifact.message.observation
    held = Observation(channel=seen.channel, ref=seen.ref, text=seen.text)
    return Artifact(Message(held, 0), artifact.branch, artifact.seq)


def _adds_once(store: ArtifactStore, thread: ThreadKey) -> None:
    """The same message again is no write; another text under its id takes its place."""
    one, two, three = said(1, "one"), said(2, "two"), said(3, "three")
    _same(store.add(thread, [one, two]), 2)
    _same(store.add(thread, [one, two, three, three]), 1)
    _same(store.add(thread, []), 0)
    named = [("main", "u3"), ("main", "u1"), ("main", "u99")]
    _same(store.get(thread, named), [kept(one), kept(three)])
    for text in ("long " * 8_000, "another"):
        _same(store.add(thread, [two, said(1, text)]), 1)
        _same(
            (store.count(thread), store.get(thread, [("main", "u1")])), (3, [kept(said(1, text))])
        )


def _keeps_texts(store: ArtifactStore, thread: ThreadKey) -> None:
    """Channel, ref and every character of a message are kept, however long it is."""
    texts = ["", " \n", "Größe 東京 🧬 \x01 'quoted\" \\", "long ü " * 9_000, "x" * 20_001]
    whole = [said(n, text) for n, text in enumerate(texts)]
    fields = {"channel": Channel.TOOL, "name": "se arch", "call_id": "c1", "message": "m1"}
    whole.append(said(9, "found", ref="t9.1", at="2026-03-04T11:00:00+01:00", **fields))
    store.add(thread, whole)
    found = store.get(thread, [(a.branch, a.message.ref) for a in whole])
    _same(found, [kept(each) for each in whole])
    _same(store.count(thread), len(whole))
    _same([a.seq for a, _ in store.query(thread, "found", limit=20)][:1], [9])


def _finds(store: ArtifactStore, thread: ThreadKey) -> None:
    """The nearest message comes first, with its cosine; limit and upto bound what comes."""
    texts = ["the rollout begins on Friday", "Ann owns the budget", "the rollout is late", "lunch"]
    store.add(thread, [said(n, text) for n, text in enumerate(texts)])
    found = store.query(thread, "rollout begins Friday")
    _same((found[0][0].seq, len(found)), (0, 4))
    assert 0.5 < found[0][1] <= 1.001, "a score is a cosine"
    _same([a.seq for a, _ in store.query(thread, "rollout late", limit=1)], [2])
    _same({a.seq for a, _ in store.query(thread, "rollout late", upto=1)}, {0, 1})
    _same(store.query(ThreadKey(f"{thread.thread} other"), "rollout"), [])
    _same(store.query(thread, "rollout", branches=()), [])


def _sees_branches(store: ArtifactStore, thread: ThreadKey) -> None:
    """A fork sees its own messages and its parent's up to the fork, and nothing later than it."""
    store.add(thread, [said(n, f"main {n}") for n in range(1, 5)])
    store.add(thread, [said(n, f"fork {n}", "fork") for n in (3, 4)])
    fork = [("main", 2), ("fork", None)]
    wanted = {("main", 1), ("main", 2), ("fork", 3), ("fork", 4)}
    _same({(a.branch, a.seq) for a, _ in store.query(thread, "fork", branches=fork)}, wanted)
    seen = store.get(thread, [("fork", "u4"), ("main", "u2"), ("fork", "u3")])
    _same([a.message.text for a in seen], ["main 2", "fork 3", "fork 4"])
    _same([store.last(thread, each) for each in ("main", "fork", "none")], [4, 4, -1])
    counts = store.counts()
    _same([counts.get(lane_of(thread, each), 0) for each in ("main", "fork", "none")], [4, 2, 0])


def _deletes(store: ArtifactStore, thread: ThreadKey) -> None:
    """What is deleted is found no more, and can be added again; a message goes alone, and a whole thread does."""
    other = ThreadKey(thread.thread, user="other")
    store.add(thread, [said(1, "a secret"), said(2, "long secret " * 2_000), said(3, "kept")])
    store.add(thread, [said(1, "kept", "fork")])
    store.add(other, [said(1, "kept")])
    named = [("main", "u1"), ("main", "u2"), ("main", "u1"), ("main", "absent"), ("none", "u3")]
    store.delete(thread, named)
    _same([a.seq for a, _ in store.query(thread, "secret")], [3])
    _same((store.count(thread), store.last(thread, "fork")), (2, 1))
    _same(store.counts().get(lane_of(thread, "main")), 1)
    _same(
        [a.message.text for a in store.get(thread, [("fork", "u1"), ("main", "u1")])],
        ["kept"],
    )
    long = said(5, "long secret " * 2_000)
    store.add(thread, [long])
    store.delete(thread, [long, said(6, "never added")])
    _same(store.get(thread, [("main", "u5")]), [])
    _same(store.add(thread, [said(1, "new words")]), 1)
    store.delete(thread)
    store.delete(thread)
    _same((store.count(thread), store.last(thread, "main"), store.count(other)), (0, -1, 1))


def _compacts(store: ArtifactStore, thread: ThreadKey) -> None:
    """Compacting loses nothing, and messages can be added after it."""
    store.add(thread, [said(n, f"number {n}") for n in range(130)])
    store.delete(thread, [("main", "u7")])
    assert isinstance(store.compact(), bool)
    _same(store.stale, "")
    _same(store.add(thread, [said(130, "after")]), 1)
    _same((store.count(thread), store.last(thread, "main")), (130, 130))
    _same(store.query(thread, "number 8", limit=1)[0][0].seq, 8)


def _shares(store: ArtifactStore, thread: ThreadKey) -> None:
    """Several threads of a process can use the store at once."""

    def work(worker: int) -> int:
        own = ThreadKey(f"{thread.thread} {worker}")
        for seq in range(10):
            store.add(own, [said(seq, f"word {seq} of {worker}")])
            store.add(thread, [said(seq, f"shared {seq}")])
            assert store.query(own, f"word {seq}"), "a message that was added is found"
        return store.count(own)

    with ThreadPoolExecutor(4) as pool:
        _same(list(pool.map(work, range(4))), [10] * 4)
    _same(store.count(thread), 10)


PROMISES: tuple[Callable[[ArtifactStore, ThreadKey], None], ...] = (
    _adds_once, _keeps_texts, _finds, _sees_branches, _deletes, _compacts, _shares,
)  # fmt: skip


def _same(found: object, wanted: object) -> None:
    if found != wanted:
        raise AssertionError(f"found {found!r:.400}, wanted {wanted!r:.400}")
