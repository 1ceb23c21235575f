"""Cues for rules with a measure: limits, and the form in which things are wanted.

Each table maps an example to the pattern that finds it; the tests hold every pattern to its
example.
"""

from __future__ import annotations

from acc.compressors.rules.words import CLOCK, EACH, EVER, FORM, NUMBER, SIZE, START, one_of

_BEYOND = one_of("above, over, beyond, more than, past")
_BELOW = one_of("under, below, within, above, over, at, to")
_AT_MOST = r"\bat (?:the )?(?:very )?(?:most|least|latest|outside)\b"
_CAP = r"\b" + one_of("budget, limit, cap, ceiling, quota, allowance, threshold, maximum, minimum")
_GOES = r"\b" + one_of(
    "goes, go, gets?, needs?, must, requires?, has to, have to, is to, are to, stays?"
)
_TERSE = one_of(
    """short, brief, formal, informal, concise, polite, friendly, simple, plain, terse, neutral,
    factual"""
)
_UNWANTED = one_of(
    """emojis?, smileys, abbreviations, jargon, bullets?, tables?, attachments?, exclamation marks,
    acronyms, markdown, headings, slang, small talk, footnotes, screenshots"""
)
_WRITE = START + one_of(
    """use, give, write, put, round, quote, cite, state, express, report, list, label, name, mark,
    file, save, store, format, spell"""
)

LIMITS: dict[str, str] = {
    "not above 160 a night": r"\b(?:not|no|never) (?:to )?(?:be |go |get )?" + one_of(
        """above, over, more than, beyond, later than, less than, fewer than, longer than,
        earlier than, older than, exceed\\w*"""
    ),
    "at most five attempts": rf"{_AT_MOST}.{{0,25}}{NUMBER}",
    "replays go 25 at a time": rf"(?!\b(?:one|a)\b){NUMBER}(?: \w+)? (?:at a time|at once)\b",
    "fifty samples a day is what it takes":
        rf"{NUMBER}.{{0,40}}\bis (?:all|what|the most) (?:we|you|they|it|the \w+) (?:have|has|gets?|takes?)\b",
    "reports arrive by Thursday noon, every week":
        rf"\bby (?:\w+day )?{CLOCK}.{{0,20}}\bevery \w+",
    "max two meetings": rf"\b(?:maximum|minimum|max|min)\.?(?: of|:| is)?\s{{0,2}}{NUMBER}",
    "15% tops": rf"{NUMBER}.{{0,40}}(?:{_AT_MOST}|\b(?:maximum|minimum|max|tops)\b)",
    "the budget for taxis is 300 euros":
        rf"{_CAP}.{{0,25}}?(?:\b(?:is|are|stays|of|at)|[:=])\s{{0,2}}(?:now )?{NUMBER}",
    "keep the load under 70%":
        r"\b(?:keep|stay|stays|remain|hold|held|cap|capped|limit|limited)\b.{0,50}?"
        rf"\b{_BELOW}.{{0,12}}?{NUMBER}",
    "meetings end by six every day":
        r"\b(?:end|finish|wrap up|close|stop|start|begin|leave)s?\b.{0,30}?"
        rf"\b(?:at|by|before|after)\b.{{0,14}}?{CLOCK}.{{0,40}}?{EACH}",
    "the file has to be below 5 MB":
        r"\b(?:must|should|has to|have to|needs? to|can)\b.{0,30}?"
        rf"\b(?:by|before|within|under|below)\b.{{0,12}}?{CLOCK}",
    "replies: under 100 words":
        rf"{START}(?:under|below|within|up to|less than|fewer than|no later than)\b.{{0,12}}?"
        rf"{NUMBER}(?!.? of\b)",
    "refunds above $200 go to Kim":
        r"\b(?:anything|everything|any \w+|all \w+|every \w+|\w+s) (?:over|above|beyond|exceeding|"
        r"under|below|more than|less than|larger than|bigger than|older than|from) "
        rf"{NUMBER}.{{0,40}}{_GOES}",
    "we can't go over 40 nodes": rf"\bcan(?:'t|not) (?:go|be|get) {_BEYOND}",
}  # fmt: skip
"""Limits in figures."""

FORMATS: dict[str, str] = {
    "every summary has three lines":
        rf"(?:{EVER}|\b(?:under|below|max|no more than|has to|must)\b).{{0,60}}?"
        rf"{NUMBER}[ -]?{SIZE}",
    "two decimals wherever you give a number": rf"{NUMBER}[ -]?{SIZE}.{{0,100}}?{EVER}",
    "half a page per site": rf"{NUMBER}(?: an?)?[ -]{SIZE} (?:per|a) \w+",
    "notes for the sponsor: half a page": rf"^[^:?]{{3,50}}: (?:[\w-]+ ){{0,3}}{SIZE}",
    "all dates in ISO": rf"{EACH}.{{0,50}}?\b(?:in|as|with|use) {FORM}",
    "in UTC whenever you name a time": rf"\b(?:in|as|with|use) {FORM}.{{0,40}}?{EVER}",
    "answer in German":
        r"^(?:answer|reply|write|speak|report|use|give|format|respond)\b.{0,30}?"
        rf"\b(?:in |as |with |to me in )?{FORM}",
    "doses in milligrams": rf"^(?:[\w-]+ ){{0,2}}\w+s,?(?: please,?)? (?:in|as) {FORM}",
    "plain text, please": rf"^(?:\w+ )?{FORM}.{{0,20}}?\b(?:please|only)\b",
    "short answers please, no legalese": r"\bplease,? (?:and )?no \w+",
    "in tickets it's 'Project Heron'":
        r"^(?:in|for) (?:any |all |every |the |your |our )?\w+(?:,? (?:and|or|\w+,) \w+)?,? "
        r"(?:it's|it is|we say|say|call|write|use|we call)\b",
    "for the newsletter: American terms":
        r"^for (?:the |our |your |any |all |every )?[^:,]{2,40}: "
        r"(?!I\b|I'|we\b|can\b|what\b|how\b|did\b|is\b|are\b)",
    "say guests, not customers":
        r"\b(?:say|write|call \w+|refer to)\b.{1,40}?,? (?:not|never|instead of|rather than) ",
    "address the board as members": r"\b(?:address|refer to) .{1,30}? as\b",
    "call the outage a 'degradation'":
        r"\bcall (?:it|this|them|the|our) .{0,30}?\b(?:an? |the )?[\"“']",
    "some shops is what we say": r"\bis (?:what|how) we (?:say|write|call|put|spell)\b",
    "no emojis": rf"\bno (?:\w+ )?{_UNWANTED}",
    "keep the replies short":
        rf"\b(?:keep|make) (?:it|them|your|the|all|every|any|\w+s)\b.{{0,30}}?\b{_TERSE}",
    "be brief": rf"^be {_TERSE}",
    "use the blue template for anything external":
        rf"{_WRITE}.{{1,50}}?(?:{EVER}|{EACH})",
}  # fmt: skip
"""The form in which things are wanted."""
