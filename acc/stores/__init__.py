"""Stores: where artifacts are kept. `acc.ChromaArtifactStore` is the one for production."""

from acc.stores.in_memory import InMemoryStore
from acc.stores.protocol import Artifact, ArtifactStore, Thread

__all__ = [
    "Artifact",
    "ArtifactStore",
    "InMemoryStore",
    "Thread",
]
