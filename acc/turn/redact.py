"""Removes secrets from texts before anything persists them or passes them to a model.

`Settings.redact` selects the redactor: ``"secrets"`` (the default) is `SecretRedactor`, None
keeps texts unchanged, and any function from text to text is accepted. The function must be
deterministic and idempotent, because a retry is recognized by its words.

`SecretRedactor` is a table of documented token formats and checksums. It is a heuristic: it
misses a secret without a known form, such as a pass phrase of plain words. It does not use a
library, because detect-secrets scans source code line by line and has had no release for years,
and scrubadub and presidio need language models.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, TypeVar

from acc.errors import ConfigurationError
from acc.text.lines import data_in
from acc.turn.observations import Observation
from acc.turn.turn import Turn

Said = TypeVar("Said", bound=Observation)

Redact = Callable[[str], str]
"""Removes secrets from a text."""

_KEY_BLOCK = re.compile(
    r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?:[^-]|-(?!----)){0,16000}+-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"|[A-Za-z0-9+/=\s\\]*)"
)
_TOKENS = (
    r"(?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA|ANVA|ABIA|ACCA)[A-Z0-9]{16}\b",  # AWS
    r"AIza[\w-]{35}(?![\w-])|ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,}",  # Google
    r"gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{22,}|glpat-[\w-]{20,}",  # GitHub, GitLab
    r"xox[abeoprs]-[\w-]{10,}|xapp-[\w-]{10,}|hooks\.slack\.com/services/T\w+/B\w+/\w+",  # Slack
    r"sk-(?=[\w-]{0,200}\d)(?:(?:proj|ant|svcacct|admin|or)-)?[\w-]{20,}",  # OpenAI, Anthropic and others
    r"(?:gsk_|xai-|pplx-|r8_|hf_|lin_api_)[A-Za-z0-9]{24,}",  # Groq, xAI, Perplexity, Replicate
    r"(?:[srp]k_(?:live|test)|whsec)_[A-Za-z0-9]{16,}",  # Stripe
    r"SG\.[\w-]{16,}\.[\w-]{16,}|key-[0-9a-f]{32}\b",  # SendGrid, Mailgun
    r"npm_[A-Za-z0-9]{36}\b|pypi-[\w-]{50,}|dop_v1_[0-9a-f]{64}\b|dapi[0-9a-f]{32}\b",
    r"hv[sb]\.[\w-]{24,}|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}\b|AGE-SECRET-KEY-1[A-Z0-9]{58}\b",
    r"\d{8,10}:AA[\w-]{33}(?![\w-])",  # Telegram
    r"eyJ[\w-]{8,4000}+\.eyJ[\w-]{8,8000}+\.[\w-]*",  # JSON web tokens
)
_TOKEN = re.compile(rf"\b(?:{'|'.join(_TOKENS)})")

_NAME = (
    r"(?:(?:pass[ _-]?(?:word|phrase|code)|secret|credential)s?|passwd|pwd|token|api[ _-]?key|access[ _-]?key"
    r"|secret[ _-]?(?:access[ _-]?)?key|private[ _-]?key|account[ _-]?key|client[ _-]?secret"
    r"|auth[ _-]?key|signing[ _-]?key|encryption[ _-]?key)(?:[ _-]?(?:id|value))?"
)
_VALUE = r"(?P<value>[^\s\"'`<>,;|]{6,512})"
_ASSIGNED = re.compile(
    rf"(?<!\[)(?P<name>{_NAME})[\"']?[ \t]{{0,4}}(?P<sign>:=|=>|[:=]|\bis\b(?:[ \t]+now\b)?)"
    rf"[ \t]{{0,4}}[\"'`]?{_VALUE}",
    re.I,
)
_HEADER = re.compile(
    r"\b(?:authorization[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?(?:[A-Za-z]{2,20}[ \t]{1,4})?"
    r"|bearer[ \t]{1,4}(?=[\w.~+/=-]{0,64}\d)(?=[\w.~+/=-]{16}))(?P<value>[\w.~+/=-]{8,})",
    re.I,
)
_IN_URL = re.compile(
    r"(?<=[a-z0-9])://[^\s/:@\"'<>]{0,256}+:(?P<value>[^\s/@\"'<>]{1,256}+)@", re.I
)
_DIGITS = re.compile(r"\d{4}(?<![\w.]\d{4})(?:\d{9,15}|\d{0,2}(?:[ -]\d{2,7}){2,5})(?![\w]|[.-]\d)")
_IBAN = re.compile(r"[A-Z]{2}\d{2}(?<!\w.{4})(?:[ -]?[A-Z0-9]{4}){2,7}(?:[ -]?[A-Z0-9]{1,3})?\b")
_CARD = re.compile(
    r"4\d{12}(?:\d{3}(?:\d{3})?)?|(?:5[1-5]|2[2-7])\d{14}|3[47]\d{13}|3(?:0[0-5]|[689]\d)\d{11}"
    r"|(?:6011|64[4-9]\d|65\d\d)\d{12}|35\d{14}|62\d{14,17}"
)
_VALUED = (
    (_HEADER, ("authorization", "bearer")),
    (_IN_URL, ("://",)),
    (_ASSIGNED, ("pass", "pwd", "secret", "credential", "token", "api", "access", "private", "account",
                 "client", "auth", "signing", "encryption")),
)  # fmt: skip
"""Forms with a value, and the texts, in lower case, with one of which every match begins."""
_NONE = re.compile(r"[$%<*#{]|\.{3}|x{4,}|[\w.]+[(\[]|os\.|env\b", re.I)
"""Prefixes of values that are not secrets: a variable, a mask, an expression."""


class SecretRedactor:
    """Replaces keys, tokens, passwords, card numbers and IBANs by ``[secret:0a1b2c3d4e]``; idempotent.

    The digits come from an HMAC of the secret, so equal secrets have equal placeholders in all texts. Without
    a ``key``, a reader can test guesses against a placeholder. A memory has its own, in its journal.
    """

    def __init__(self, key: bytes = b"") -> None:
        self._key = key

    def __call__(self, text: str) -> str:
        """Return ``text`` with a placeholder for each secret found."""
        text = _KEY_BLOCK.sub(lambda m: self._placeholder(m[0]), text)
        kept: list[str] = []
        at = 0
        for start, end in data_in(text):
            kept += self._redacted(text[at:start]), text[start:end]
            at = end
        return "".join((*kept, self._redacted(text[at:])))

    def _redacted(self, text: str) -> str:
        text = _TOKEN.sub(lambda m: self._placeholder(m[0]), text)
        for form, words in _VALUED:
            text = self._without_values(text, form, words)
        text = _IBAN.sub(lambda m: self._if(_is_iban(m[0]), m[0]), text)
        return _DIGITS.sub(lambda m: self._if(_is_card(m[0]), m[0]), text)

    def _without_values(self, text: str, form: re.Pattern[str], words: Sequence[str]) -> str:
        """Do what ``form.sub`` does, but look only where one of ``words`` stands: many times as fast."""
        folded = text.replace("\u0130", "i").lower()  # the one character whose lower case is longer
        kept: list[str] = []
        at = 0
        for start in sorted(place for word in words for place in _places(folded, word)):
            if start >= at and (found := form.match(text, start)):
                kept += text[at:start], self._valued(found)
                at = found.end()
        return "".join((*kept, text[at:]))

    def _valued(self, found: re.Match[str]) -> str:
        """Replace the value of a match by a placeholder if it is a secret."""
        value = found["value"]
        is_named = "sign" in found.re.groupindex
        secret = value.partition("&")[0] if is_named and found["sign"] == "=" else value
        secret = secret.rstrip(".,:!?*_()[]{}") if is_named else secret
        if _NONE.match(value) or (is_named and not _is_password(secret, found["sign"])):
            return found[0]
        start = found.start("value") - found.start()
        rest = found[0][start + len(secret) :]
        return found[0][:start] + self._placeholder(secret) + rest

    def _if(self, is_secret: bool, text: str) -> str:
        return self._placeholder(text) if is_secret else text

    def _placeholder(self, secret: str) -> str:
        if secret.startswith("[secret:"):
            return secret
        plain = _joined(secret) if secret[:1].isdigit() else secret
        digest = hmac.new(self._key, plain.encode("utf-8", "surrogatepass"), hashlib.sha256)
        return f"[secret:{digest.hexdigest()[:10]}]"


def _places(text: str, word: str) -> Iterator[int]:
    place = text.find(word)
    while place >= 0:
        yield place
        place = text.find(word, place + 1)


def _is_password(value: str, sign: str) -> bool:
    """Whether the value assigned to a secret's name is a secret, not a word that describes one."""
    if len(value) < 6:
        return False
    letters, digits = any(map(str.isalpha, value)), any(map(str.isdigit, value))
    others = any(not c.isalnum() and c not in "-_./'\u2019" for c in value)
    if letters and (digits or others):
        return not re.fullmatch(r"[a-z_]\w*\(.*|[\w.-]+@[\w.-]+\.\w+|https?://.*", value, re.I)
    if sign == "=":
        return value.lower() not in _WORDS
    return digits and sign != "is" and len(value) >= 6


_DESCRIBING = "required optional string password secret undefined default changed unknown"
_WORDS = frozenset(_DESCRIBING.split())


def _joined(text: str) -> str:
    """Return a number that is written in groups as one."""
    return text.replace(" ", "").replace("-", "")


def _is_card(text: str) -> bool:
    """Whether the digits are a card number: known issuer, no mixed separators, valid check digit."""
    digits = _joined(text)
    if not _CARD.fullmatch(digits) or (" " in text and "-" in text) or len(set(digits)) < 2:
        return False
    odd, even = digits[-1::-2], digits[-2::-2]
    total = sum(map(int, odd)) + sum(sum(divmod(2 * int(d), 10)) for d in even)
    return total % 10 == 0


def _is_iban(text: str) -> bool:
    """Whether the text is an IBAN with valid check digits."""
    plain = _joined(text)
    if not 15 <= len(plain) <= 34:
        return False
    return int("".join(str(int(c, 36)) for c in plain[4:] + plain[:4])) % 97 == 1


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
    """Return the turn with all its texts redacted."""
    if redact is None:
        return turn
    return turn.model_copy(update={"observations": redacted(turn.observations, redact)})


def redacted(said: Sequence[Said], redact: Redact | None) -> tuple[Said, ...]:
    """Redact texts and names of observations. An observation without a secret is returned unchanged."""
    return tuple(said) if redact is None else tuple(_redacted(each, redact) for each in said)


def _redacted(said: Said, redact: Redact) -> Said:
    changed = {"text": redact(said.text), "name": redact(said.name)}
    same = changed["text"] == said.text and changed["name"] == said.name
    return said if same else said.model_copy(update=changed)


def _failed(what: str) -> ConfigurationError:
    return ConfigurationError(
        f"redact failed: {what}",
        where="Settings.redact",
        hint="pass a function that takes and returns a string; nothing was stored",
    )
