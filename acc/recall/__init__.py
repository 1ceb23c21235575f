"""Recall: ranked candidates from the thread's evidence and from documents."""

from acc.recall.candidates import Candidate, Recall, WideRecall
from acc.recall.dense import Dense, openai_embedder, sentence_transformer

__all__ = ["Candidate", "Dense", "Recall", "WideRecall", "openai_embedder", "sentence_transformer"]
