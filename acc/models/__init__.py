"""Models: the protocol, a client for OpenAI's API, one for LangChain, records, and answers read as JSON."""

from acc.models.endpoints import LangChainModel, OpenAIModel, as_model
from acc.models.protocol import (
    AnswerError,
    ChatModel,
    Completion,
    PromptMessage,
    Usage,
    object_in,
)
from acc.models.recorded import RecordedModel, RecordingModel

__all__ = [
    "AnswerError",
    "ChatModel",
    "Completion",
    "LangChainModel",
    "OpenAIModel",
    "PromptMessage",
    "RecordedModel",
    "RecordingModel",
    "Usage",
    "as_model",
    "object_in",
]
