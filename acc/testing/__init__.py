"""Tools to test your own compressors, stores and agents with the library."""

from acc.testing.model_capabilities import Capabilities
from acc.testing.model_faults import FAULTS, Fault
from acc.testing.model_replies import Reply, Usage
from acc.testing.model_requests import Message, Request
from acc.testing.model_server import ModelServer
from acc.testing.scripted import FailingCompressor, FixedClock, ScriptedCompressor
from acc.testing.store_conformance import check_store

__all__ = [
    "FAULTS",
    "Capabilities",
    "FailingCompressor",
    "Fault",
    "FixedClock",
    "Message",
    "ModelServer",
    "Reply",
    "Request",
    "ScriptedCompressor",
    "Usage",
    "check_store",
]
