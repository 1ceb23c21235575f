"""What tests that start Python processes of their own have in common."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import acc.stores.protocol
from acc.stores.chroma.store import ChromaArtifactStore
from acc.stores.protocol import Artifact

ROOT = str(Path(acc.stores.protocol.__file__).parents[2])

Spawn = Callable[..., subprocess.Popen[str]]
Record = Callable[..., Artifact]

PRELUDE = """
import os, sys
from acc.errors import StoreError
from acc.stores.protocol import Artifact
from acc.stores.chroma.store import ChromaArtifactStore

def record(seq, text=""):
    id_ = f"thread.main:{seq}"
    return Artifact(id=id_, thread="thread", branch="main", seq=seq, turn=seq, text=text)

def told(act):
    try:
        act()
        return "nothing"
    except StoreError as error:
        return str(error)

path = sys.argv[1]
"""
"""What each of these programs begins with; its first argument is the path of a store."""


@contextmanager
def opened(path: Path) -> Iterator[ChromaArtifactStore]:
    """An embedded store, closed at the end."""
    with closing(ChromaArtifactStore.embedded(path)) as store:
        yield store
