"""The model of py3langid, which tells the language of a text. Loading it takes half a second."""

from __future__ import annotations

from functools import cache
from typing import Any

from py3langid.langid import MODEL_FILE, LanguageIdentifier


@cache
def identifier() -> Any:
    """Return what scores the languages of a text."""
    return LanguageIdentifier.from_model_file(MODEL_FILE)


@cache
def sure_identifier() -> Any:
    """Return what gives the languages of a text probabilities, by the same model."""
    model = identifier()
    return LanguageIdentifier(
        model.nb_ptc, model.nb_pc, model.nb_classes, model.tk_nextmove, model.tk_output,
        norm_probs=True, tk_row=model.tk_row,
    )  # fmt: skip
