"""Secrets that are known by their own form, or by the place they stand in.

A provider's documented token, a key block, a hashed password, a number with check digits; the value of a header, of a
URL's user, of a command's flag; and base64 of any of these. `acc.turn.redact` finds those behind a name.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator

Span = tuple[int, int]
"""Start and end of a secret in its text."""

_MARKED = r"(?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_KEY_BLOCK = re.compile(
    rf"-----BEGIN {_MARKED}(?:(?:[^-]|-(?!----)){{0,16000}}+-----END {_MARKED}|[A-Za-z0-9+/=\s\\>]*)"
)
_KEY_END = re.compile(rf"-----END {_MARKED}")
_KEY_LINE = re.compile(r"[A-Za-z0-9+/=]{16,80}")

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
    r"dckr_pat_[\w-]{20,}|NRAK-[A-Z0-9]{27}\b|gl(?:sa|c)_[\w+/=-]{30,}|ATATT3[\w=-]{60,}",
    r"dp\.(?:st|pt|ct)\.[\w.]{30,}|\w{3}\dQ~[\w.~-]{31,34}(?![\w~])",  # Doppler, Azure
    r"(?:bot)?\d{8,10}:AA[\w-]{33}(?![\w-])",  # Telegram
    r"[MNO][\w-]{23,25}\.[\w-]{6}\.[\w-]{27,38}(?![\w-])",  # Discord
    r"eyJ[\w-]{8,4000}+\.eyJ[\w-]{8,8000}+\.[\w-]*",  # JSON web tokens
)
_HASHED = r"\$(?:[1-7]|2[aby]|y|argon2\w{1,2})\$[^\s:]{20,200}"
_TOKEN = re.compile(rf"\b(?:{'|'.join(_TOKENS)})|{_HASHED}")
_WRAP = re.compile(r"=?\n(?:> ?){0,3}")
_WRAPPED = re.compile(r"(?<![\w.-])[\w.-]++(?:=?\n(?:> ?){0,3}(?=[\w-])[\w.-]++)++")
"""A word that line breaks divide: those of a mail with or without marks of a quotation, and soft ones."""

_SHORTEST = 20
"""Characters of a token at least."""

_HEADER = re.compile(
    r"\b(?:authorization[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?(?:[A-Za-z]{2,20}[ \t]{1,4})?"
    r"|bearer[ \t]{1,4}(?=[\w.~+/=-]{0,64}\d)(?=[\w.~+/=-]{16})"
    r"|cookie:[ \t]{0,4}[\w.-]{1,64}=)(?P<value>[\w.~+/=%-]{8,})",
    re.I,
)
_SIGNED = re.compile(r"[?&](?:x-amz-)?sig(?:nature)?=(?P<value>[\w.~+/=%-]{8,})", re.I)
_IN_URL = re.compile(
    r"(?<=[a-z0-9])://[^\s/:@\"'<>]{0,256}+:(?P<value>[^\s/\"'<>]{1,256})@(?=[\w.\[-])", re.I
)
_WITH_BOTH = r"(?=[^\s\"'/]{8})(?=[^\s\"'/]{0,64}\d)(?=[^\s\"'/]{0,64}[^\W\d_])"
_FLAG = re.compile(
    rf"(?<!\S)(?:(?:-u|--user)[ =][\"']?[^\s:\"']{{1,64}}:|-[pw] ?[\"']?{_WITH_BOTH}|-passin pass:)"
    r"(?P<value>[^\s\"'/]{6,256})"
)
_PLACES = (
    (_HEADER, ("authorization", "bearer", "cookie")),
    (_SIGNED, ("?sig", "&sig", "?x-amz-sig", "&x-amz-sig")),
    (_IN_URL, ("://",)),
    (_FLAG, ("-u ", "-u=", "--user", "-p", "-w")),
)
"""Places of secrets, and the texts, in lower case, with one of which every match begins."""

_DIGITS = re.compile(
    r"\d{4}(?<![\w.]\d{4})(?:\d{9,15}|\d{0,2}(?:[ .-]\d{2,7}){2,5})(?![\w]|[.-]\d)"
)
_CARD = re.compile(
    r"4\d{12}(?:\d{3}(?:\d{3})?)?|(?:5[1-5]|2[2-7])\d{14}|3[47]\d{13}|3(?:0[0-5]|[689]\d)\d{11}"
    r"|(?:6011|64[4-9]\d|65\d\d)\d{12}|35\d{14}|62\d{14,17}"
)
_IBAN = re.compile(
    r"(?<!\w)(?:[A-Z]{2}\d{2}(?:[ \n-]?[A-Z0-9]{4}){2,7}(?:[ \n-]?[A-Z0-9]{1,3})?"
    r"|[a-z]{2}\d{2}(?: [a-z0-9]{4}){2,7}(?: [a-z0-9]{1,3})?)\b"
)
_ENCODED = re.compile(r"(?<![\w+/=])[A-Za-z0-9+/]{24,1024}={0,2}(?![\w+/=])")
_BASIC = re.compile(r"[\w.@-]{1,64}:[^\s:]{6,128}\Z")

_MASK = re.compile(
    r"\*+|\.{3}|x{4,}|\$?\{++[^{}]*+\}|<[^<>]*+>|[$%<#{]++\W*+(?:[A-Z_0-9.]++|[a-z_0-9.]++)\W*+\Z|![a-z_]++\Z"
    r"|\W*+[A-Z_]++\W*+\Z"
)
"""What stands for a value: a mask, a variable, a word in letters of one case."""
_EXPRESSION = re.compile(r"@?[a-z_][\w.:]*+[(\[]|@[\w.]++\(|[\w.]++\(.*\)\W*\Z|os\.|env\b")
"""A call or a look-up in a program."""
_ELSEWHERE = re.compile(r"[\w.-]+@[\w.-]+\.\w+|[\w+-]+://.*", re.I)
"""An address is no password."""


def stands_for_another(value: str) -> bool:
    """Whether a value is no secret itself: a mask, an expression, an address."""
    return bool(_MASK.match(value) or _EXPRESSION.match(value) or _ELSEWHERE.match(value))


def begun(
    form: re.Pattern[str], text: str, folded: str, words: tuple[str, ...]
) -> Iterator[re.Match[str]]:
    """Do what ``form.finditer`` does, but look only where one of ``words`` stands: many times as fast.

    ``folded`` is the text in lower case. Every match of ``form`` begins with one of the words.
    """
    at = 0
    for start in sorted(place for word in words for place in _places(folded, word)):
        if start >= at and (found := form.match(text, start)):
            yield found
            at = found.end()


def _places(text: str, word: str) -> Iterator[int]:
    place = text.find(word)
    while place >= 0:
        yield place
        place = text.find(word, place + 1)


def key_blocks(text: str) -> Iterator[Span]:
    """Yield key blocks, also those without their end or their beginning."""
    at = 0
    for found in _KEY_BLOCK.finditer(text):
        yield found.span()
        at = found.end()
    for end in _KEY_END.finditer(text, at):
        start = end.start()
        while start > at:
            before = max(at, text.rfind("\n", at, start - 1) + 1)
            if not _KEY_LINE.fullmatch(text[before : start - 1]):
                break
            start = before
        yield start, end.end()
        at = end.end()


def formed(text: str, folded: str) -> Iterator[Span]:
    """Yield secrets of a known form, and values in known places. Takes time in proportion to the text."""
    yield from _tokens(text)
    for form, words in _PLACES:
        for found in begun(form, text, folded, words):
            if form is not _IN_URL or not _MASK.match(found["value"]):
                yield found.span("value")
    yield from (m.span() for m in _IBAN.finditer(text) if _is_iban(m[0]))
    yield from (m.span() for m in _DIGITS.finditer(text) if _is_card(m[0]))


def _tokens(text: str) -> Iterator[Span]:
    """Yield tokens, also those that a line break divides."""
    whole = {m.start(): m.end() for m in _TOKEN.finditer(text)}
    for word in _WRAPPED.finditer(text):
        if len(word[0]) < _SHORTEST:
            continue
        places, at = list[int](), word.start()
        for wrap in _WRAP.finditer(text, *word.span()):
            places += range(at, wrap.start())
            at = wrap.end()
        places += range(at, word.end())
        for found in _TOKEN.finditer(_WRAP.sub("", word[0])):
            start, end = places[found.start()], places[found.end() - 1] + 1
            rest = text[whole.get(start, start) : end]
            if "\n" in rest and (start not in whole or has_both(_WRAP.sub("", rest))):
                whole[start] = end
    yield from whole.items()


LEAST = 8
"""Characters at least of a word that looks like a secret."""


def has_both(text: str) -> bool:
    """Whether a word has letters and digits, and is long enough for a secret."""
    return len(text) >= LEAST and any(map(str.isalpha, text)) and any(map(str.isdigit, text))


def decoded(text: str) -> Iterator[tuple[Span, str]]:
    """Yield base64 of words, and the words."""
    for found in _ENCODED.finditer(text):
        try:
            said = base64.b64decode(found[0], validate=True).decode()
        except ValueError:
            continue
        if said.isprintable():
            yield found.span(), said


def is_credential(text: str) -> bool:
    """Whether a text is a user and a password, as basic authentication sends them, or holds a token."""
    return bool(_BASIC.match(text) or _TOKEN.search(text))


def joined(text: str) -> str:
    """Return a number that is written in groups as one."""
    return "".join(filter(str.isalnum, text))


def _is_card(text: str) -> bool:
    """Whether the digits are a card number: known issuer, no mixed separators, valid check digit."""
    digits = joined(text)
    signs = {each for each in text if not each.isdigit()}
    if not _CARD.fullmatch(digits) or len(signs) > 1 or len(set(digits)) < 2:
        return False
    odd, even = digits[-1::-2], digits[-2::-2]
    total = sum(map(int, odd)) + sum(sum(divmod(2 * int(d), 10)) for d in even)
    return total % 10 == 0


def _is_iban(text: str) -> bool:
    """Whether the text is an IBAN with valid check digits."""
    plain = joined(text)
    if not 15 <= len(plain) <= 34:
        return False
    return int("".join(str(int(c, 36)) for c in plain[4:] + plain[:4])) % 97 == 1
