"""Tools to test your own compressors, stores and agents with the library."""

from acc.testing.audit_conformance import check_audit_store
from acc.testing.model_api import Message, Request, Usage
from acc.testing.model_faults import FAULTS, Capabilities, Fault
from acc.testing.model_server import ModelServer, Reply
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
    "check_audit_store",
    "check_store",
]
