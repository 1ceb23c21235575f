"""Removes secrets from texts before anything persists them or passes them to a model.

`Settings.redact` selects the redactor: ``"secrets"`` (the default) is `SecretRedactor`, None
keeps texts unchanged, and any function from text to text is accepted. The function must be
deterministic and idempotent, because a retry is recognized by its words.

`SecretRedactor` finds what `acc.turn.secret_forms` knows. On 51 forms of secrets and 20,000 harmless texts,
detect-secrets finds 3 of the forms by its tokens and names; with its entropies it changes 98 % of the harmless texts.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Sequence
from typing import Literal, TypeVar

from acc.errors import ConfigurationError
from acc.text.lines import data_in
from acc.text.normal import Normal
from acc.turn.observations import Observation
from acc.turn.secret_forms import KEY_BLOCK, joined, secrets_in
from acc.turn.turn import Turn

Said = TypeVar("Said", bound=Observation)

Redact = Callable[[str], str]
"""Removes secrets from a text."""


class SecretRedactor:
    """Replaces keys, tokens, passwords, card numbers and IBANs by ``[secret:0a1b2c3d4e]``; idempotent.

    The digits come from an HMAC of the secret, so equal secrets have equal placeholders in all texts. Without
    a ``key``, a reader can test guesses against a placeholder. A memory has its own, in its journal.
    """

    def __init__(self, key: bytes = b"") -> None:
        self._key = key

    def __call__(self, text: str) -> str:
        """Return ``text`` with a placeholder for each secret found."""
        made = self._once(text)
        while made != text:  # a placeholder may make room for another find
            text, made = made, self._once(made)
        return made

    def _once(self, text: str) -> str:
        text = KEY_BLOCK.sub(lambda found: self._placeholder(found[0]), text)
        kept: list[str] = []
        at = 0
        for start, end in data_in(text):
            kept += self._redacted(text[at:start]), text[start:end]
            at = end
        return "".join((*kept, self._redacted(text[at:])))

    def _redacted(self, text: str) -> str:
        laid_out = None if text.isascii() else Normal.laid_out(text)
        kept: list[str] = []
        at = 0
        for found in secrets_in(text if laid_out is None else laid_out.text):
            start, end = found if laid_out is None else laid_out.original(*found)
            kept += text[at:start], self._placeholder(text[start:end])
            at = end
        return "".join((*kept, text[at:]))

    def _placeholder(self, secret: str) -> str:
        plain = joined(secret) if secret[:1].isdigit() else secret
        digest = hmac.new(self._key, plain.encode("utf-8", "surrogatepass"), hashlib.sha256)
        return f"[secret:{digest.hexdigest()[:10]}]"


def redactor(redact: Redact | Literal["secrets"] | None, key: bytes = b"") -> Redact | None:
    """Return the redactor that ``Settings.redact`` selects, or None.

    It raises `ConfigurationError`, which never contains the text, if the function fails or returns no text.
    """
    if redact is None:
        return None
    chosen: Redact = SecretRedactor(key) if redact == "secrets" else redact

    def checked(text: str) -> str:
        try:
            made = chosen(text)
        except Exception as error:
            # The error's message and the text may contain the secret, so neither is reported.
            raise _failed(f"it raised {type(error).__name__}") from None
        if not isinstance(made, str):
            raise _failed(f"it returned {type(made).__name__}")
        return made

    return checked


def redacted_turn(turn: Turn, redact: Redact | None) -> Turn:
    """Return the turn without secrets: in its texts, names, ids and times."""
    if redact is None:
        return turn
    clean = {"observations": redacted(turn.observations, redact), "at": redact(turn.at)}
    return turn.model_copy(update=clean)


_FIELDS = ("text", "name", "call_id", "message", "at")
"""Fields of an observation that somebody else writes."""


def redacted(said: Sequence[Said], redact: Redact | None) -> tuple[Said, ...]:
    """Redact observations. One without a secret is returned unchanged."""
    return tuple(said) if redact is None else tuple(_redacted(each, redact) for each in said)


def _redacted(said: Said, redact: Redact) -> Said:
    given = {name: getattr(said, name) for name in _FIELDS}
    clean = {name: redact(value) if value else value for name, value in given.items()}
    return said if clean == given else said.model_copy(update=clean)


def _failed(what: str) -> ConfigurationError:
    return ConfigurationError(
        f"redact failed: {what}",
        where="Settings.redact",
        hint="pass a function that takes and returns a string; nothing was stored",
    )
