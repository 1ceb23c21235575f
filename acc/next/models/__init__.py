"""Models: the protocol, a client for OpenAI's API, one for LangChain, records, and answers read as JSON."""

from acc.next.models.answers import AnswerError, object_in
from acc.next.models.choosing import as_model
from acc.next.models.langchain_client import LangChainModel
from acc.next.models.openai_client import OpenAIModel
from acc.next.models.protocol import ChatModel, Completion, Price, PromptMessage, Usage
from acc.next.models.recorded import RecordedModel, RecordingModel

__all__ = [
    "AnswerError",
    "ChatModel",
    "Completion",
    "LangChainModel",
    "OpenAIModel",
    "Price",
    "PromptMessage",
    "RecordedModel",
    "RecordingModel",
    "Usage",
    "as_model",
    "object_in",
]
