"""ACC, the Agent Cognitive Compressor: a bounded, typed memory in front of LLM agents.

Each turn (`acc.controller.one_turn`):

    recall      acc.artifacts.recall            passages of the past for the question
    qualify     acc.gate                        which of them are read
    compress    acc.compress.compressor         a model proposes what changes; without one, acc.compress.keyless
    commit      acc.commit.commit               the laws: what of the proposal becomes the next state
    persist     acc.journal.committing          turn and commit in one journal

Names are loaded when first used, so that ``import acc`` loads no vendor and takes milliseconds.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from acc.artifacts.chroma import ChromaStore as ChromaStore
    from acc.board.board import Board as Board
    from acc.controller.controller import AsyncMemoryController as AsyncMemoryController
    from acc.controller.controller import MemoryController as MemoryController
    from acc.controller.settings import Settings as Settings
    from acc.errors import AccError as AccError
    from acc.errors import PinnedOverflow as PinnedOverflow
    from acc.evidence.evidence import Evidence as Evidence
    from acc.integrations.langchain import MemoryMiddleware as MemoryMiddleware
    from acc.integrations.langgraph import MemoryNode as MemoryNode
    from acc.journal.names import ThreadKey as ThreadKey
    from acc.state.items import Item as Item
    from acc.state.model import CompressedCognitiveState as CompressedCognitiveState
    from acc.state.policy import Cadence as Cadence
    from acc.state.policy import Policy as Policy
    from acc.state.slots import Slot as Slot
    from acc.step.result import Step as Step
    from acc.step.update import aupdate_state as aupdate_state
    from acc.step.update import seed as seed
    from acc.step.update import update_state as update_state
    from acc.turn.observations import Channel as Channel
    from acc.turn.observations import Observation as Observation
    from acc.turn.turn import Turn as Turn

__version__ = "0.2.0"

_HOME = {
    "AccError": "acc.errors",
    "AsyncMemoryController": "acc.controller.controller",
    "Board": "acc.board.board",
    "Cadence": "acc.state.policy",
    "Channel": "acc.turn.observations",
    "ChromaStore": "acc.artifacts.chroma",
    "CompressedCognitiveState": "acc.state.model",
    "Evidence": "acc.evidence.evidence",
    "Item": "acc.state.items",
    "MemoryController": "acc.controller.controller",
    "MemoryMiddleware": "acc.integrations.langchain",
    "MemoryNode": "acc.integrations.langgraph",
    "Observation": "acc.turn.observations",
    "PinnedOverflow": "acc.errors",
    "Policy": "acc.state.policy",
    "Settings": "acc.controller.settings",
    "Slot": "acc.state.slots",
    "Step": "acc.step.result",
    "ThreadKey": "acc.journal.names",
    "Turn": "acc.turn.turn",
    "aupdate_state": "acc.step.update",
    "seed": "acc.step.update",
    "update_state": "acc.step.update",
}


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ImportError:
        return False


_NEEDS = {"MemoryMiddleware": "langchain"}
"""The package that a name needs, if ACC does not depend on it. Without it, ``import *`` leaves the name out."""

__all__ = [*sorted(n for n in _HOME if n not in _NEEDS or _is_installed(_NEEDS[n])), "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'acc' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
