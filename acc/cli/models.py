"""The model of a command: by name, from recorded answers, recorded while it answers, with its price."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from acc.errors import ConfigurationError
from acc.folders import refuse_memorys
from acc.models.choosing import as_model
from acc.models.protocol import ChatModel, Price
from acc.models.recorded import RecordedModel, RecordingModel

RECORDED = "recorded:"


def model_named(name: str, *, record: Path | None = None, price: Price | None = None) -> Any:
    """Return the model of ``--model``; None for the keyless rules. ``record`` gets each answer appended.

    Raises:
        AccError: The model cannot be used, ``record`` or ``price`` needs one, or recorded answers cannot be read.
    """
    if not name:
        if needs := "--record" if record else "--price" if price else "":
            hint = "name the model with --model"
            raise ConfigurationError("this option needs a model", where=needs, hint=hint)
        return None
    model = _asked(name)
    if price is not None:
        model.price = price
    if record is None:
        return model
    refuse_memorys(record)
    return RecordingModel(model, record)


def _asked(name: str) -> ChatModel:
    if name.startswith(RECORDED):
        return RecordedModel(name.removeprefix(RECORDED))
    return as_model(name)
