"""The memory store keeps the promises; and `check_store` finds a store that does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from acc.errors import StoreError
from acc.stores.in_memory import InMemoryStore
from acc.stores.protocol import Artifact, ArtifactStore
from acc.testing import check_store


def test_it_keeps_what_a_store_promises() -> None:
    check_store(InMemoryStore, reopens=False)


def test_it_does_not_outlive_its_process() -> None:
    with pytest.raises(AssertionError, match="Records are still there after a reopening"):
        check_store(InMemoryStore)


def test_it_is_not_shared() -> None:
    assert InMemoryStore().shared is False


def test_a_closed_store_says_so() -> None:
    store = InMemoryStore()
    store.close()
    with pytest.raises(StoreError, match="the store is closed"):
        store.get("tenant", [])


class LastWins(InMemoryStore):
    def add(self, tenant: str, artifacts: Sequence[Artifact]) -> None:
        super().add(tenant, artifacts)
        self._tenants[tenant].update({artifact.id: artifact for artifact in artifacts})


class Unordered(InMemoryStore):
    def get(self, tenant: str, ids: Sequence[str]) -> list[Artifact]:
        return sorted(super().get(tenant, ids), key=lambda artifact: artifact.seq)


class GetsAtMostAHundred(InMemoryStore):
    def get(self, tenant: str, ids: Sequence[str]) -> list[Artifact]:
        return super().get(tenant, ids[:100])


class CutsTexts(InMemoryStore):
    def add(self, tenant: str, artifacts: Sequence[Artifact]) -> None:
        super().add(tenant, [a.model_copy(update={"text": a.text[:8_000]}) for a in artifacts])


class DropsControls(InMemoryStore):
    def add(self, tenant: str, artifacts: Sequence[Artifact]) -> None:
        cleaned = [a.model_copy(update={"text": a.text.replace("\x00", "")}) for a in artifacts]
        super().add(tenant, cleaned)


class ForgetsTrust(InMemoryStore):
    def add(self, tenant: str, artifacts: Sequence[Artifact]) -> None:
        super().add(tenant, [a.model_copy(update={"trust": None}) for a in artifacts])


class CutsNames(InMemoryStore):
    def add(self, tenant: str, artifacts: Sequence[Artifact]) -> None:
        super().add(tenant, [a.model_copy(update={"name": a.name[:4_096]}) for a in artifacts])


class MixesTenants(InMemoryStore):
    def add(self, tenant: str, artifacts: Sequence[Artifact]) -> None:
        super().add(tenant[:4], artifacts)

    def get(self, tenant: str, ids: Sequence[str]) -> list[Artifact]:
        return super().get(tenant[:4], ids)


class WorksWhenClosed(InMemoryStore):
    def close(self) -> None:
        pass


class ClosesOnce(InMemoryStore):
    def close(self) -> None:
        if self._closed:
            raise RuntimeError("closed already")
        super().close()


class Breaks(InMemoryStore):
    def get(self, tenant: str, ids: Sequence[str]) -> list[Artifact]:
        if "\ud800" in ids:
            raise UnicodeError("vendor's own")
        return super().get(tenant, ids)


class GivesTuples(InMemoryStore):
    def get(self, tenant: str, ids: Sequence[str]) -> list[Artifact]:
        return tuple(super().get(tenant, ids))  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("store", "breach"),
    [
        (LastWins, "The first record of an id is kept"),
        (Unordered, "in the order of the ids"),
        (GetsAtMostAHundred, "any number of ids"),
        (CutsTexts, "A text of RECORD_BYTES"),
        (DropsControls, "Every character is kept"),
        (ForgetsTrust, "Every field is kept"),
        (CutsNames, "cannot keep unchanged raises a StoreError"),
        (MixesTenants, "does not see the records of another tenant"),
        (WorksWhenClosed, "stays closed"),
        (ClosesOnce, "can be closed twice"),
        (Breaks, "UnicodeError: vendor's own"),
        (GivesTuples, "not a list"),
        (lambda: object(), "a method of the protocol is missing"),
    ],
)
def test_the_check_finds_a_breach(store: Callable[[], ArtifactStore], breach: str) -> None:
    with pytest.raises(AssertionError, match=breach):
        check_store(store, reopens=False)
