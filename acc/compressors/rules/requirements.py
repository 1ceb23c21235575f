"""Cues for what must be, and what is preferred.

Each table maps an example to the pattern that finds it; the tests hold every pattern to its
example.
"""

from __future__ import annotations

from acc.compressors.rules.words import IT, MY, NUMBER, START, YES, one_of

_EVER_DONE = one_of("had, got, saw, been, knew, met, heard, found, made, did, went, \\w+ed")
_SAYS = one_of(
    "says?, tells?, asks?, agrees?, approves?, confirms?, signs?, clears?, has, have, 've, gives?"
)
_SAYS = one_of(
    "says?, tells?, asks?, agrees?, approves?, confirms?, signs?, clears?, has, have, 've, gives?"
)

PREFERENCES: dict[str, str] = {
    "I'd rather nobody flew":
        r"\bI(?:'d| would) (?:rather|prefer)\b"
        r"(?! (?:not|wait|go|do|see|make|ask|show|keep|stay)\b)",
    "we prefer trains": r"\b(?:I|we) (?:strongly |always |usually )?prefer\b|\bpreferably\b",
    "I can't stand footnotes":
        r"\bI (?:hate (?:it when|when|seeing|reading)|can't stand|loathe)\b|\bI'm allergic to\b|"
        r"\bpet hate\b",
    "I like my reports short": r"\bI like (?:my|it when you|them|things)\b",
    "I want Thursdays kept clear": r"\bI (?:want|need|like) (?:[\w']+ ){1,4}?" + one_of(
        "kept, left, shown, treated, written, handled, signed, checked"
    ),
}  # fmt: skip
"""What is preferred."""

_MUST_BE = one_of(
    """so, such, really, very, quite, pretty, the, a, an, some, that, because, why, mistaken, wrong,
    hard, nice, tough, \\w+ing, thrilled, proud, fun, great, awesome, scary, awful, lovely"""
)
_MUST_FEEL = one_of("really, feel, seem, look, sound, bring, love, know, admit, say, confess")
_DIFFERENT = one_of(
    """here, happy, good, there, nice, fun, great, a, an, the, been, had, so, in, on, \\w+ing, \\w+ed,
    \\w+s"""
)
_ALONE = one_of(
    """what, thing, problem, question, issue, then, one, two, three, four, five, \\d+, a, a few,
    just, recently, because, that"""
)
_VIA = one_of("to, in, into, through, via, by, under, on")
_HOURS = one_of(
    "until, till, at night, at weekends, on weekends, after hours, out of hours, while, unless"
)
_DOES = one_of("goes, gets?, needs?, has to, is to, stays?, requires?")

REQUIREMENTS: dict[str, str] = {
    "the entrance must be wheelchair accessible":
        r"(?<!\bI )(?<!\bwe )(?<!\bhe )(?<!she )(?<!they )(?<!^)(?<!\ba )\b(?:must|shall)\b"
        rf"(?!'|-| (?:have (?:\w+ed|been|gone|got|\w+en)|be {_MUST_BE}|{_MUST_FEEL})\b)",
    "always lock the cabinet":
        rf"{START}always (?!{_DIFFERENT})\w|\b(?:should|must|please|you) always\b",
    "whenever you name a part, give its number":
        r"\b(?:whenever|wherever|every time|each time|any ?time)\b.{0,80}"
        r"\b(?:you|your|me|please|must|should|needs?|gets?|has to)\b",
    "cite the section each time": rf"^{IT}.{{1,80}}\b(?:each|every) (?:single )?time\b(?! I\b)",
    "an evidence link with each claim you make":
        r"\b(?:with|for|to|on|in) (?:each|every|any) [\w-]+ (?:that )?you\b",
    "from now on two people sign": r"\b" + one_of(
        """from (?:now|here|today|tomorrow|\\w+day|next week) on(?:wards)?, going forward, henceforth,
        as a rule, as a matter of principle, at all times, until further notice, by default,
        as standard"""
    ),
    "in future, check the seal":
        r"\bin (?:the )?future,? (?:please|always|never|no|do|don't|use|check|all|every|you)\b",
    "only Ana merges to main": rf"{START}only (?!{_ALONE})\w|\buse only\b",
    "details change only after a call":
        rf"^{IT}.{{1,80}}?\bonly (?:ever |be )?(?!has|had|have|got|\w+ed\b.{{0,4}}$)"
        r"(?:\w+ ){0,3}?(?:after|if|when|once|with|through|via)\b",
    "deployments only between ten and four":
        rf"^{IT}(?:[\w'-]+ ){{1,4}}only "
        r"(?:between|after|from|in|on|at|during|via|with|by|to|for)\b",
    "guests of the house only, and by the side door":
        rf"(?:^|[,:]\s(?:so )?){IT}(?!so\b)[^,:]{{3,70}}?(?<![-\w])only(?:,? please)?(?=[,.!]|$)",
    "by me alone": r"\b(?:by|to|through|with) (?:me|\w+)(?: and \w+)? (?:alone|only)\b",
    "I'm the only one who unblinds anybody": r"\bI(?:'m| am) the only (?:one|person) (?:who|to)\b",
    "you only prepare them": r"\byou only (?!have|need|had|get|got|saw|live|want)\w+",
    "we only use licensed images": rf"\bwe only (?!have|need|know|want|{_EVER_DONE})\w+",
    "mails go past Ruth first":
        r"\b(?:go|goes|runs?|pass(?:es)?|comes?|routed?)\b(?: \w+){0,2} "
        r"(?:through|past|via|by|to)\b.{1,40}?\b(?:first|before)\b",
    "updates go to the channel, not to me":
        rf"\bgo(?:es)? {_VIA}.{{1,50}}, (?:not|never) {_VIA}",
    "check with Luca before ordering":
        r"\b(?:check|clear|agree|confirm|coordinate) (?:\w+ ){0,3}with \w+.{0,20}"
        r"\b(?:first|before)\b",
    "ask before you spend anything": r"\bask (?:me |\w+ )?(?:first|before)\b",
    "before you delete a row, make a copy":
        rf"{START}before (?!you ask\W)(?:you|we|any|each|every|anything)\b.{{1,60}}?\b" + one_of(
            "ask, check, confirm, tell, get, call, let, make, run, take, wait"
        ),
    "run everything against staging first":
        r"^\w+ (?:everything|anything|all|every|each|any)\b.{0,60}"
        r"\b(?:first|before|beforehand)\b",
    "tests first, then code": r"\bfirst, (?:and )?then\b",
    "a restart needs Dana's nod": rf"\b(?:needs?|requires?|takes?|gets?) (?:{MY} ){{0,3}}{YES}",
    "rollbacks are Marco's call":
        r"\b(?:is|are|stays?|remains?) (?:\w+'s|the \w+'s|my|her|his|their) "
        r"(?:job|call|decision|business|responsibility)\b",
    "Dana has the last word": r"\b(?:has|have|gets) (?:the )?(?:last word|final say|veto)\b",
    "keep Monday morning free": rf"{START}keep (?:[\w'-]+ ){{1,4}}?(?:free|clear|open)\b(?! of)",
    "Mondays stay free": r"\bstays (?!motivated|focused|connected|tuned)\w+ed\b|"
    r"\b(?:stays?|remains?) " + one_of(
        """free, put, there, as is, frozen, blocked, reserved, locked, untouched, unchanged, where,
        closed, inside, within, in (?:the|our|my), out of, off limits, away"""
    ),
    "whatever writes to the ledger gets a second look":
        rf"{START}(?:whatever|whoever|whichever) (?:\w+s|is \w+ed)\b",
    "copy Tom on whatever goes out": r"\b(?:on|to|with|in) (?:whatever|whoever|whichever) \w+s\b",
    "restarts wait for the evening": r"\b(?:\w+s wait|waits) (?:for|until|till)\b",
    "tickets at night go to the desk until seven":
        rf"\bgo(?:es)? (?:straight )?to\b.{{1,60}}?\b{_HOURS}|\b{_HOURS}.{{0,40}}?\bgo(?:es)? to\b",
    "what Ann signed, Ben signs now":
        r"\b(?:signs|approves|decides|clears|handles) (?:that |it |them )?(?:now|instead)\b",
    "reply within four hours": r"^(?:please )?" + one_of(
        "reply, answer, respond, deliver, finish, return, call back, pay, confirm"
    ) + rf".{{0,50}}?\bwithin {NUMBER}",
    "flags are frozen until Monday":
        r"\b(?:is|are) (?:frozen|locked|blocked|off|reserved) (?:until|till|for|from)\b",
    "until I say otherwise": rf"\b(?:unless|until|till) \w+(?: |(?='ve)){_SAYS}",
    "stick to the replica": rf"{START}stick (?:to|with)\b",
    "treat anything from there with care":
        rf"{START}treat (?:all|any|every|anything|everything)\b",
    "two names on every entry":
        rf"^{NUMBER} [\w -]{{2,30}}? (?:on|per|for|in|with) (?:every|each|any)\b",
    "make sure no door is left open":
        r"\b(?:make sure|ensure|see to it|be sure)\b.{0,80}?"
        r"\b(?:always|never|every|each|all|no|nobody|only|any|before)\b",
    "every change gets a ticket":
        rf"\b(?:anything|everything|any \w+|every \w+|each \w+)\b.{{0,50}}?\b{_DOES} "
        r"(?!wrong|well|fine|smoothly|worse|better)",
    "all contracts go through legal":
        r"^(?:all|every|each) (?!\w+ (?:is|are|was|were)\b)(?:[\w'-]+ ){1,4}?"
        r"(?:goes?|gets?|stays?|uses?|carry|carries|needs?|comes?|runs?|has to|have to|in|through|"
        r"past|via|with|to|must)\b(?! through\b)",
    "anything touching billing: two pairs of eyes":
        r"^(?:for )?(?:anything|everything|all|any|every)\b.{1,60}:",
    "two approvals on anything that touches auth":
        r"\b(?:on|in|with|to) (?:anything|everything) "
        r"(?:that|which|over|external|from|for|to|with|customers?|\w+ing)\b",
    "visitors have to sign every page":
        r"\b(?:you|\w+s) (?:have to|need to|has to)\b.{0,60}?"
        r"\b(?:always|every|each|all|any|first|before)\b",
    "I need two sources for every claim":
        r"\bI (?:want|need|expect|insist on)\b(?! (?:an?|the) "
        r"(?:list|table|overview|summary|count|copy|note|report|draft|number)s?\b).{1,50}?"
        r"\b(?:(?:for|in|with|on|of) (?:every|each|all|any)\b|every |each |all )(?!.*\bby\b)",
    "I want us on the train":
        r"\bI (?:want|expect) (?:us|nobody|no |only |to see (?:them|these|those|all|both|only))\b",
    "I want to be told of every outage": r"\bI want to be " + one_of(
        "told, asked, informed, copied, in cc, consulted, called, warned"
    ),
    "let me see every draft":
        r"\b(?:let me|I want to|I(?:'d| would) like to) (?:see|approve|sign|review|read)\b"
        r".{0,40}?\b(?:before|first|every|each)\b",
    "if it costs more than 300, ring me":
        rf"^if .{{3,60}}?\b(?:over|above|under|below|more than|less than|beyond|past) {NUMBER}"
        r".{0,40}, ",
    "where we quote a guideline, give the year":
        r"^where(?:ver)? (?:you|we|it|the)\b.{3,60}?, (?!(?:i|we|it|he|she|they|you)\b)\w",
    "if a parent calls, put them through":
        r"^(?:if|when) (?:an?|any\w*|some(?:one|body|thing))\b.{3,80}?, "
        r"(?!(?:i|we|it|he|she|they|you|that|there|what|the|i'm)\b)\w",
}  # fmt: skip
"""What must be."""
