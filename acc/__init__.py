"""ACC, the Agent Cognitive Compressor: a bounded, typed memory in front of LLM agents.

Recall, qualify, compress, commit, persist. Names are loaded when first used, so that
``import acc`` loads no vendor and takes milliseconds.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from acc.compress.langchain import LangChainCompressor as LangChainCompressor
    from acc.compress.openai import OpenAICompressor as OpenAICompressor
    from acc.controller import AsyncMemoryController as AsyncMemoryController
    from acc.controller import MemoryController as MemoryController
    from acc.errors import AccError as AccError
    from acc.errors import PinnedOverflow as PinnedOverflow
    from acc.integrations.langchain import MemoryMiddleware as MemoryMiddleware
    from acc.integrations.langgraph import MemoryNode as MemoryNode
    from acc.keyless.compressor import RuleCompressor as RuleCompressor
    from acc.pipeline.session import Settings as Settings
    from acc.pipeline.turn_pipeline import Step as Step
    from acc.pipeline.update import aupdate_state as aupdate_state
    from acc.pipeline.update import update_state as update_state
    from acc.roles.context import construct_context as construct_context
    from acc.roles.memory import AsyncRoleMemory as AsyncRoleMemory
    from acc.roles.memory import RoleMemory as RoleMemory
    from acc.roles.role import Role as Role
    from acc.state.items import Item as Item
    from acc.state.model import CompressedCognitiveState as CompressedCognitiveState
    from acc.state.policy import Policy as Policy
    from acc.state.proposal import Proposal as Proposal
    from acc.state.slots import Slot as Slot
    from acc.stores.chroma.store import ChromaArtifactStore as ChromaArtifactStore
    from acc.stores.in_memory import InMemoryStore as InMemoryStore
    from acc.stores.protocol import Thread as Thread
    from acc.turn.observations import Channel as Channel
    from acc.turn.observations import Observation as Observation
    from acc.turn.observations import Trust as Trust
    from acc.turn.turn import Turn as Turn

__version__ = "0.1.0"

_HOME = {
    "AccError": "acc.errors",
    "AsyncMemoryController": "acc.controller",
    "AsyncRoleMemory": "acc.roles.memory",
    "Channel": "acc.turn.observations",
    "ChromaArtifactStore": "acc.stores.chroma.store",
    "CompressedCognitiveState": "acc.state.model",
    "Item": "acc.state.items",
    "LangChainCompressor": "acc.compress.langchain",
    "InMemoryStore": "acc.stores.in_memory",
    "MemoryController": "acc.controller",
    "MemoryMiddleware": "acc.integrations.langchain",
    "MemoryNode": "acc.integrations.langgraph",
    "Observation": "acc.turn.observations",
    "OpenAICompressor": "acc.compress.openai",
    "PinnedOverflow": "acc.errors",
    "Policy": "acc.state.policy",
    "Proposal": "acc.state.proposal",
    "Role": "acc.roles.role",
    "RoleMemory": "acc.roles.memory",
    "RuleCompressor": "acc.keyless.compressor",
    "Settings": "acc.pipeline.session",
    "Slot": "acc.state.slots",
    "Step": "acc.pipeline.turn_pipeline",
    "Thread": "acc.stores.protocol",
    "Trust": "acc.turn.observations",
    "Turn": "acc.turn.turn",
    "aupdate_state": "acc.pipeline.update",
    "construct_context": "acc.roles.context",
    "update_state": "acc.pipeline.update",
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
