"""Finds secrets in a text: keys, tokens, passwords, card numbers, IBANs.

A secret is known by one of three things. Its own form: a provider's documented token, a key block, a number with check
digits. The place it stands in: a header, a URL. Or the name before it: a value assigned to a password's name, or
behind such a name the first word of letters and digits. A phrase of plain words has none of these, and is not found.

The text is `acc.text.normal.Normal.laid_out`: without invisible characters, with one kind of space and colon.
"""

from __future__ import annotations

import base64
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice

Span = tuple[int, int]
"""Start and end of a secret in its text."""

PLACEHOLDER = re.compile(r"\[secret:[0-9a-f]{10}\]")
"""What stands in the place of a secret."""

KEY_BLOCK = re.compile(
    r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?:[^-]|-(?!----)){0,16000}+-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"|[A-Za-z0-9+/=\s\\>]*)"
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
    r"(?:bot)?\d{8,10}:AA[\w-]{33}(?![\w-])",  # Telegram
    r"[MNO][\w-]{23,25}\.[\w-]{6}\.[\w-]{27,38}(?![\w-])",  # Discord
    r"eyJ[\w-]{8,4000}+\.eyJ[\w-]{8,8000}+\.[\w-]*",  # JSON web tokens
)
_TOKEN = re.compile(rf"\b(?:{'|'.join(_TOKENS)})")

_PASSWORD = (
    r"pass[ _-]?(?:word|phrase|code)s?|passwd|pwd|passwort|kennwort|mot de passe|contraseña|senha|wachtwoord|hasło"
    r"|lösenord|heslo|şifre|пароль|密码|密碼|パスワード|비밀번호"
)
_KEY = (
    r"(?:api|access|secret(?:[ _-]?access)?|private|account|auth|signing|encryption)[ _-]?key|client[ _-]?secret"
    r"|(?:secret|credential)s?|token(?!s)"
)
_NAME = rf"(?:(?P<password>{_PASSWORD})|{_KEY})(?:[ _-]?(?:id|value))?"
_VALUE = r"(?P<value>[^\s\"'`<>,;|]{6,512})"
_ASSIGNED = re.compile(
    rf"(?<!\[){_NAME}[\"']?[ \t]{{0,20}}(?P<sign>:=|=>|[:=]|\bis\b(?:[ \t]+now\b)?)"
    rf"[ \t]{{0,20}}[\"'`]?{_VALUE}",
    re.I,
)
_NAMED = re.compile(rf"(?<!\[)(?:{_NAME}|tokens)(?![a-z])", re.I)
_HEADER = re.compile(
    r"\b(?:authorization[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?(?:[A-Za-z]{2,20}[ \t]{1,4})?"
    r"|bearer[ \t]{1,4}(?=[\w.~+/=-]{0,64}\d)(?=[\w.~+/=-]{16})"
    r"|cookie:[ \t]{0,4}[\w.-]{1,64}=|[?&]sig(?:nature)?=)(?P<value>[\w.~+/=%-]{8,})",
    re.I,
)
_IN_URL = re.compile(
    r"(?<=[a-z0-9])://[^\s/:@\"'<>]{0,256}+:(?P<value>[^\s/\"'<>]{1,256})@(?=[\w.\[-])", re.I
)
_FLAG = re.compile(r"(?<!\S)(?:-u|--user)[ =][\"']?[^\s:\"']{1,64}:(?P<value>[^\s\"']{6,256})")
_DIGITS = re.compile(
    r"\d{4}(?<![\w.]\d{4})(?:\d{9,15}|\d{0,2}(?:[ .-]\d{2,7}){2,5})(?![\w]|[.-]\d)"
)
_IBAN = re.compile(
    r"(?<!\w)(?:[A-Z]{2}\d{2}(?:[ \n-]?[A-Z0-9]{4}){2,7}(?:[ \n-]?[A-Z0-9]{1,3})?"
    r"|[a-z]{2}\d{2}(?: [a-z0-9]{4}){2,7}(?: [a-z0-9]{1,3})?)\b"
)
_CARD = re.compile(
    r"4\d{12}(?:\d{3}(?:\d{3})?)?|(?:5[1-5]|2[2-7])\d{14}|3[47]\d{13}|3(?:0[0-5]|[689]\d)\d{11}"
    r"|(?:6011|64[4-9]\d|65\d\d)\d{12}|35\d{14}|62\d{14,17}"
)
_ENCODED = re.compile(r"(?<![\w+/=])[A-Za-z0-9+/]{24,1024}={0,2}(?![\w+/=])")

_MASK = re.compile(r"\*+|\.{3}|x{4,}|[$%<#{]+\W*(?:[A-Z_0-9.]+|[a-z_0-9.]+)\W*\Z")
"""Values that are no secrets: a mask, and a variable in letters of one case."""
_EXPRESSION = re.compile(r"[a-z_][\w.]*[(\[]|[\w.]+\(.*\)\W*\Z|os\.|env\b")
"""A call or a look-up in a program."""
_ELSEWHERE = re.compile(r"[\w.-]+@[\w.-]+\.\w+|https?://.*", re.I)
"""An address is no password."""

_DESCRIBING = frozenset(
    [
        "required",
        "optional",
        "string",
        "password",
        "secret",
        "undefined",
        "default",
        "changed",
        "unknown",
    ]
)

_FAR, _PIECES, LEAST = 60, 7, 8
"""Characters and words behind a name in which its value is looked for; characters of such a value at least."""


_PASSWORDS = (
    "pass", "mot de passe", "pwd", "kennwort", "contraseña", "senha", "wachtwoord", "hasło", "lösenord", "heslo",
    "şifre", "пароль", "密码", "密碼", "パスワード", "비밀번호",
)  # fmt: skip
_NAMES = (
    *_PASSWORDS, "secret", "credential", "token", "api", "access", "private", "account", "client", "auth", "signing",
    "encryption",
)  # fmt: skip
_BEGINNINGS = {
    _HEADER: ("authorization", "bearer", "cookie", "?sig", "&sig"), _FLAG: ("-u ", "-u=", "--user"),
    _IN_URL: ("://",), _ASSIGNED: _NAMES, _NAMED: _NAMES,
}  # fmt: skip
"""The texts, in lower case, with one of which every match of a form begins."""


def _begun(form: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Do what ``form.finditer`` does, but look only where a match can begin: many times as fast."""
    folded = text.replace("\u0130", "i").lower()  # the one character whose lower case is longer
    places = sorted(place for word in _BEGINNINGS[form] for place in _places(folded, word))
    at = 0
    for start in places:
        if start >= at and (found := form.match(text, start)):
            yield found
            at = found.end()


def _places(text: str, word: str) -> Iterator[int]:
    place = text.find(word)
    while place >= 0:
        yield place
        place = text.find(word, place + 1)


def secrets_in(text: str) -> list[Span]:
    """Return where secrets stand, in order and apart. Takes time in proportion to the text."""
    held = [found.span() for found in PLACEHOLDER.finditer(text)]
    found = [
        *_tokens(text),
        *(m.span("value") for form in (_HEADER, _FLAG) for m in _begun(form, text)),
        *(m.span("value") for m in _begun(_IN_URL, text) if not _MASK.match(m["value"])),
        *_assigned(text),
        *_after_names(text),
        *(m.span() for m in _IBAN.finditer(text) if _is_iban(m[0])),
        *(m.span() for m in _DIGITS.finditer(text) if _is_card(m[0])),
        *(m.span() for m in _ENCODED.finditer(text) if _says_a_secret(m[0])),
    ]
    apart: list[Span] = []
    for start, end in sorted(found, key=lambda span: (span[0], -span[1])):
        free = apart[-1][1] if apart else 0
        if start >= free and not _meets(held, start, end):
            apart.append((start, end))
    return apart


def _meets(held: Sequence[Span], start: int, end: int) -> bool:
    place = bisect_right(held, (start, end))
    return any(s < end and start < e for s, e in held[max(0, place - 1) : place + 1])


_WRAP = re.compile(r"(?<=[\w-])\n(?:> ?)?(?=[\w-])")


def _tokens(text: str) -> Iterator[Span]:
    """Yield tokens, also those that a line break divides."""
    whole = {m.start(): m.end() for m in _TOKEN.finditer(text)}
    wraps = [m.span() for m in _WRAP.finditer(text)]
    if wraps:
        gone = list(accumulate((end - start for start, end in wraps), initial=0))
        breaks = [start - before for (start, _), before in zip(wraps, gone, strict=False)]
        for m in _TOKEN.finditer(_WRAP.sub("", text)):
            first, last = bisect_right(breaks, m.start()), bisect_right(breaks, m.end() - 1)
            start, end = m.start() + gone[first], m.end() + gone[last]
            rest = text[whole.get(start, start) : end]
            if last > first and (start not in whole or _is_value(rest.strip())):
                whole[start] = end
    yield from whole.items()


def _assigned(text: str) -> Iterator[Span]:
    """Yield the values of names of secrets that stand right behind a sign."""
    for found in _begun(_ASSIGNED, text):
        sign, value = found["sign"], found["value"]
        if sign == "=":
            value = value.partition("&")[0]
        value = value.rstrip(".,:!?*_()[]{}")
        is_held = _MASK.match(found["value"]) or _EXPRESSION.match(found["value"])
        if not is_held and _is_password(value, sign):
            start = found.start("value")
            yield start, start + len(value)


_RUN = re.compile(r"[^\s\"'`<>|,;&]{1,513}")


def _after_names(text: str) -> Iterator[Span]:
    """Yield the first word of letters and digits behind each name of a secret.

    Words or a line break may stand between a password and its value; of another secret words if there is a sign.
    """
    for name in _begun(_NAMED, text):
        end = name.end()
        is_password = name["password"] is not None
        for run in islice(_RUN.finditer(text, end), _PIECES):
            if run.start() > end + _FAR or "[secret:" in run[0]:
                break
            if text.count("\n", end, run.start()) > is_password:
                break
            value = run[0].lstrip("=:>([").rstrip(".,:!?*()[]{}=")
            start = run.start() + run[0].find(value) if value else run.end()
            between = text[end:start]
            is_led = is_password or any(sign in between for sign in ":=>|[")
            if is_led and len(value) <= 512 and _is_value(value) and not _MASK.match(value):
                yield start, start + len(value)
                break
            if value.endswith((".", "!", "?")) or run[0].endswith((". ", "!", "?")):
                break


def _is_value(text: str) -> bool:
    """Whether a word looks like a secret: letters and digits together, neither address nor expression."""
    has_both = any(map(str.isalpha, text)) and any(map(str.isdigit, text))
    return (
        len(text) >= LEAST
        and has_both
        and not _EXPRESSION.match(text)
        and not _ELSEWHERE.match(text)
    )


def _is_password(value: str, sign: str) -> bool:
    """Whether the value assigned to a secret's name is a secret, not a word that describes one."""
    if len(value) < 6:
        return False
    letters, digits = any(map(str.isalpha, value)), any(map(str.isdigit, value))
    others = any(not c.isalnum() and c not in "-_./'’" for c in value)
    if letters and (digits or others):
        return not _ELSEWHERE.fullmatch(value)
    if sign == "=":
        return value.lower() not in _DESCRIBING
    return digits and sign != "is"


def _says_a_secret(text: str) -> bool:
    """Whether base64 holds words with a secret in them."""
    try:
        said = base64.b64decode(text, validate=True).decode()
    except ValueError:
        return False
    return said.isprintable() and bool(list(_assigned(said)) or _TOKEN.search(said))


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
