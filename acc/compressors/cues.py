"""Cue tables for standing rules, as data: what announces one, what only looks like one.

Patterns see one clause of at most `LONGEST` characters, apostrophes straightened, case folded.
Repeats are bounded, so that a search stays linear in the clause.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from acc.items import Kind


class Cue(NamedTuple):
    """A pattern, and the kind of rule that it announces."""

    kind: Kind
    pattern: re.Pattern[str]


def any_of(*patterns: str) -> re.Pattern[str]:
    """One pattern that matches where any of ``patterns`` does."""
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.I)


NUMBER_WORD = (
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|"
    r"fifty|sixty|seventy|eighty|ninety|hundred|thousand|half|a dozen|a hundred|a thousand)"
)
NUMBER = rf"(?:[£€$]?\d[\d,.:]*\s?(?:k|m|%)?|\b{NUMBER_WORD}\b)"
CLOCK = rf"(?:{NUMBER}|noon|midnight|lunch)"
_START = r"(?:^|[:,–—(-]\s*|\b(?:and|but|or|so|then|also|please|pls|just)\s+)"
_EACH = r"\b(?:each|every|any|all|always|daily|anything|everything)\b"
_YES = (
    r"(?:approval|sign-?\s?off|signature|permission|consent|clearance|blessing|nod|okay|ok|go-?\s?ahead|"
    r"say-?so|green light|go|review|authori[sz]ation|four eyes|second pair of eyes)\b"
)
_SIZE = (
    r"(?:words?|characters?|lines?|sentences?|paragraphs?|bullets?(?: points?)?|pages?|slides?|"
    r"decimals?(?: places)?|lines?)\b"
)
_FORM = (
    r"(?:bullet points?|bullets|markdown|tables?|json|csv|plain (?:text|english|language)|utc|iso|"
    r"metric|celsius|lower-?case|upper-?case|24-hour|english|german|french|spanish|italian|dutch|"
    r"portuguese|polish|kilomet(?:re|er)s|miles|met(?:re|er)s|feet|kilos|euros|pounds|dollars|percent|capitals|writing|pdf|"
    r"word|excel|(?:british|american) (?:spelling|english)|spelling)\b"
)
_SECRET = r"(?:confidential|secret|private|internal|between (?:us|you|the two)|off the record|under wraps)\b"

_LIMIT = (
    r"\b(?:not|no|never) (?:to )?(?:be |go |get )?(?:above|over|more than|beyond|later than|less than|fewer than|"
    r"longer than|earlier than|older than|exceed\w*)\b",
    rf"\b(?:at (?:the )?(?:most|least|very most|latest|outside))\b.{{0,25}}{NUMBER}|"
    rf"\b(?:maximum|minimum|max|min)\.?(?: of|:| is)?\s{{0,2}}{NUMBER}",
    rf"{NUMBER}.{{0,40}}\b(?:at (?:the )?(?:very )?(?:most|least|latest|outside)|maximum|minimum|max|tops)\b",
    r"\b(?:budget|limit|cap|ceiling|quota|allowance|threshold|maximum|minimum)\b.{0,25}?"
    rf"(?:\b(?:is|are|stays|of|at)|[:=])\s{{0,2}}(?:now )?{NUMBER}",
    rf"\b(?:keep|stay|stays|remain|hold|held|cap|capped|limit|limited)\b.{{0,50}}?"
    rf"\b(?:under|below|within|above|over|at|to)\b.{{0,12}}?{NUMBER}",
    rf"\b(?:end|finish|wrap up|close|stop|start|begin|leave)s?\b.{{0,30}}?\b(?:at|by|before|after)\b.{{0,14}}?"
    rf"{CLOCK}.{{0,40}}?{_EACH}",
    rf"\b(?:must|should|has to|have to|needs? to|can)\b.{{0,30}}?\b(?:by|before|within|under|below)\b.{{0,12}}?{CLOCK}",
    rf"{_START}(?:under|below|within|up to|less than|fewer than|no later than)\b.{{0,12}}?{NUMBER}(?! of\b)",
    rf"\b(?:anything|everything|any \w+|all \w+|every \w+|\w+s) (?:over|above|beyond|exceeding|under|below|"
    rf"more than|less than|larger than|bigger than|older than|from) {NUMBER}.{{0,40}}"
    rf"\b(?:goes|go|gets?|needs?|must|requires?|has to|have to|is to|are to|stays?)\b",
    r"\bcan(?:'t|not) (?:go|be|get) (?:over|above|beyond|past|more than)\b",
)
_FORMAT = (
    rf"(?:{_EACH}|\b(?:whenever|wherever|from now on|under|below|max|no more than|has to|must)\b).{{0,60}}?"
    rf"{NUMBER}[ -]?{_SIZE}",
    rf"{NUMBER}[ -]?{_SIZE}.{{0,60}}?(?:{_EACH}|\b(?:whenever|wherever|from now on|each)\b)",
    rf"{_EACH}.{{0,50}}?\b(?:in|as|with|use) {_FORM}",
    rf"\b(?:in|as|with|use) {_FORM}.{{0,40}}?(?:{_EACH}|\b(?:whenever|wherever|from now on)\b)",
    rf"^(?:answer|reply|write|speak|report|use|give|format|respond)\b.{{0,30}}?\b(?:in |as |with |to me in )?{_FORM}",
    rf"^\w+s,?(?: please,?)? (?:in|as) {_FORM}",
    r"^(?:in|for) (?:any |all |every |the |your |our )?\w+(?:,? (?:and|or|\w+,) \w+)?,? "
    r"(?:it's|it is|we say|say|call|write|use|we call)\b",
    r"\b(?:say|write|call \w+|refer to)\b.{1,40}?,? (?:not|never|instead of|rather than) ",
    r"\bno (?:\w+ )?(?:emojis?|smileys|abbreviations|jargon|bullets?|tables?|attachments?|exclamation marks|acronyms|"
    r"markdown|headings|slang|small talk|footnotes|screenshots)\b",
    r"\b(?:keep|make) (?:it|them|your|the|all|every|any|replies|answers|mails?|messages|notes|reports|\w+s)\b.{0,30}?"
    r"\b(?:short|brief|formal|informal|concise|polite|friendly|simple|plain|terse|neutral|factual)\b",
    rf"^(?:\w+ )?{_FORM}.{{0,20}}?\b(?:please|only)\b|\bplease,? (?:and )?no \w+",
    r"^for (?:the |our |your |any |all |every )?[^:,]{2,40}: (?!I\b|I'|we\b|can\b|what\b|how\b|did\b|is\b|are\b)",
    r"^(?:please )?(?:use|give|write|put|round|quote|cite|state|express|report|list|label|name|mark|file|save|store|format|"
    r"spell)\b.{1,50}?\b(?:all|any|every|each|anything|everything|whenever)\b",
    r"^be (?:brief|concise|polite|formal|terse|short|factual)\b",
)
_PROHIBITION = (
    rf"{_START}(?:do not|don'?t|never)\s(?!(?:worry|mind|know|think|forget|hesitate|ask me|get me|you\b|believe|"
    r"remember|care|understand|see|seem|want|like|have|need|say|feel|mean|even|really|ever|heard|seen|had|"
    r"give up|let (?:it|that|this|them) |stop|lose|been|used|better|got|a|an|the|saw|tried|knew|thought|happened|ending|quite|yet|again\s*$)\b)\w",
    r"\byou're not to\b|\byou (?:do not|don't|never|must not|mustn't|may not|cannot|can't|shouldn't|should not|are not to|"
    r"aren't to|are not allowed|aren't allowed)\b(?! (?:have|need|know|think|seem|look|see|want|mind|say|said|"
    r"care|believe|told|usually|get|got|understand|like|mean|sound|\w+ed)\b)",
    r"\b(?:must not|mustn't|must never|should never|are not to|is not to|isn't to|aren't to|not to be|"
    r"(?:is not|isn't|are not|aren't) (?:to be )?(?:allowed|permitted|acceptable)|may (?:not|never) be|"
    r"(?:cannot|can't) be (?!right|true|serious|sure|the|that|bothered|happy|good|far)|"
    r"(?:shouldn't|should not|must not) (?:be )?\w+|off[- ]limits|out of bounds|forbidden|prohibited|taboo|"
    r"is out of the question|not an option)\b",
    r"\b(?:nobody|no[ -]one|nothing|none of \w+)(?: (?:but|except|other than|outside|else)(?: \w+){0,3}?)? "
    r"(?:is to|are to|may|can|should|must|shall|will|gets? \w+ed|gets? \w+[nt]|"
    r"(?!(?:is|was|has|seems|works|happens|helps|matters|knows|cares|answers|looks|comes|makes|beats|replies|"
    r"responds|stands|needs|likes|remembers|wants|thinks|says|understands|changes)\b)\w+[^s\W]s)\b(?! it\b)",
    rf"{_START}nothing (?:with|containing|over|above|after|before|outside)\b(?! the)",
    r"\bnothing (?:is|gets?|goes)\b.{0,60}?\b(?:until|till|before|without|unless)\b",
    r"\bnot (?:a|one|any) (?:single )?(?:word|hint|peep|penny|cent|soul)\b",
    rf"{_START}no (?!\w*thing\b)\w+ing\b",
    rf"{_START}no (?:more )?(?!(?:news|luck|idea|problem|issue|worries|rush|hurry|doubt|answer|reply|sign|trace|"
    r"response|one|need|errors?|results?|change|wonder|matter|reason|way|point|longer|hard|big|such)\b)(?:[\w-]+ ){1,3}?"
    r"(?:please|on|in|for|at|before|after|during|until|unless|without|anywhere|at all|outside|between|from|to|with)\b"
    r"(?! (?:the (?:logs?|list|file|inbox|system|table|folder)|sight|it|there|here|far)\b)",
    rf"{_START}(?:avoid|refrain from|steer clear|stay (?:away|clear|off|out)|keep (?:away|off|out|clear)|"
    r"hands off|hold off|keep your hands)\b",
    rf"(?:{_START}|\b(?:should|must|to) )(?:leave|keep)\b.{{1,40}}?\b(?:alone|out of|out|off|untouched|unchanged|"
    r"closed|as (?:it|they) (?:is|are)|where (?:it|they) (?:is|are)|away from)\b",
    rf"\bwithout (?:(?:my|our|a|an|the|any|written|prior|explicit|their|his|her|\w+'s) ){{1,3}}{_YES}|"
    r"\bwithout (?:asking|checking|telling|consulting)\b",
    r"\bor not at all\b|\bwhatever you do\b|"
    r"\bnot a single \w+\b.{0,30}\b(?:goes|leaves|gets|to|before|until|without)\b|"
    r"\b(?:does|do)(?:n't| not) (?:leave|appear|go|enter|cross|reach|show up|belong)\b.{0,50}?"
    r"\b(?:anywhere|any|anyone|outside|before|until|without|writing|public)\b|"
    r"\b(?:isn't|aren't|is not|are not) \w+(?:ed|en|nt)\b.{0,20}?\b(?:anywhere|anyone|outside|before|until|without|above|"
    r"over|beyond|below|under)\b|\b\w+s' \w+ never \w+|\bnever (?:appears?|leaves?|goes|enters?|shows?)\b|"
    r"\b(?:is|are) never to\b|\bwe never (?!had|got|saw|been|knew|met|heard|found|made|did|went|\w+ed\b)\w|\bunder no circumstances\b|\bin no case\b|\bon no account\b|\bno exceptions\b",
    r"\bI (?:do not|don't|won't) (?:want|wish|accept|tolerate) (?:any|anyone|anybody|you|them|him|her|us|it|this|"
    r"that|the|to see|to find|to read|to be (?:paged|called|copied|bothered|woken))\b",
    rf"{_START}keep\b.{{0,50}}?\b{_SECRET}|{_START}keep (?:[\w']+ ){{1,4}}to yourself|\b(?:stays?|remains?|is|are) (?:strictly )?{_SECRET}",
    rf"\btreat\b.{{1,50}}? as {_SECRET}",
)
_PREFERENCE = (
    r"\bI(?:'d| would) (?:rather|prefer)\b",
    r"\b(?:I|we) (?:strongly |always |usually )?prefer\b|\bpreferably\b|\bmy preference\b",
    r"\bI like (?:my|it when you|them|things)\b",
)
_REQUIREMENT = (
    r"(?<!\bI )(?<!\bwe )(?<!\bhe )(?<!she )(?<!they )(?<!^)\b(?:must|shall)\b(?!'|-| (?:have (?:\w+ed|been|gone|got|\w+en)|be (?:so|such|really|very|quite|pretty|"
    r"the|a|an|some|that|because|why|mistaken|wrong|hard|nice|tough|\w+ing|thrilled|proud)|feel|seem|look|sound|"
    r"bring|love|know|admit|say|confess)\b)",
    rf"{_START}always (?!(?:happy|good|there|nice|fun|great|a|an|the|been|had|so|in|on|\w+ing|\w+ed|\w+s)\b)\w|\b(?:should|must|please|to|you) always\b",
    r"\b(?:whenever|wherever|every time|each time|any time|anytime)\b.{0,80}\b(?:you|your|me|please|must|should|"
    r"needs?|gets?|has to)\b",
    r"\b(?:from (?:now|today|tomorrow|\w+day|next week) on(?:wards)?|going forward|henceforth|as a rule|as a matter of principle|at all times|"
    r"until further notice|by default|as standard)\b|"
    r"\bin (?:the )?future,? (?:please|always|never|no|do|don't|use|check|all|every|you)\b",
    rf"{_START}only (?!(?:what|thing|problem|question|issue|then|one|two|three|four|five|\d+|a|a few|just|recently|because|that)\b)\w|\buse only\b",
    r"^(?!it\b|that\b|this\b|i\b|they\b|he\b|she\b).{1,80}?\bonly (?:ever |be )?(?!has|had|have|got|\w+ed\b.{0,4}$)"
    r"(?:\w+ ){0,3}?(?:after|if|when|once|with|through|via)\b",
    r"(?:^|[,:]\s(?:so )?)(?!(?:i|we|it|they|that|this|so)\b)[^,:]{3,70}?(?<![-\w])only(?:,? please)?[.!]?$",
    r"\bwe only (?!have|had|got|saw|found|need|know|want|\w+ed\b)\w+",
    r"\b(?:goes?|runs?|pass(?:es)?|comes?|routed?)\b(?: \w+){0,2} (?:through|past|via|by|to)\b.{1,40}?\b(?:first|before)\b",
    r"\b(?:check|clear|agree|confirm|coordinate) (?:\w+ ){0,3}with \w+.{0,20}\b(?:first|before)\b",
    rf"\bask (?:me |\w+ )?(?:first|before)\b|{_START}before (?!you ask\W)(?:you|we|any|each|every|anything)\b.{{1,60}}?\b(?:ask|check|"
    r"confirm|tell|get|call|let|make|run|take|wait)\b",
    rf"\b(?:needs?|requires?|takes?) (?:(?:my|our|a|an|the|\w+'s|written|prior|explicit|his|her|their) ){{0,3}}{_YES}",
    r"\b(?:is|are|stays?|remains?) (?:\w+'s|the \w+'s|my|her|his|their) (?:job|call|decision|business|responsibility)\b",
    r"\b(?:stays?|remains?|must stay|is to stay) (?:free|put|there|as is|frozen|blocked|reserved|locked|untouched|"
    r"unchanged|where|fixed|closed|inside|within|in (?:the|our|my)|out of|off limits|away)\b|"
    r"^(?:whatever|whoever|whichever) (?:goes|leaves|comes|touches|concerns|needs|is sent)\b|\bfirst, (?:and )?then\b",
    rf"^(?:please )?(?:reply|answer|respond|deliver|finish|return|call back|pay|confirm)\b.{{0,50}}?\bwithin {NUMBER}",
    r"\b(?:is|are) (?:frozen|locked|blocked|off|reserved) (?:until|till|for)\b",
    r"\b(?:unless|until|till) (?:I|we|he|she|they|\w+) (?:say|says|tell|ask|agrees?|approves?|confirms?|signs?|clears?|"
    r"have|has|'ve|gives?)\b|\buntil I've\b",
    rf"{_START}stick (?:to|with)\b|{_START}treat (?:all|any|every|anything|everything)\b",
    r"\b(?:make sure|ensure|see to it|be sure)\b.{0,80}?\b(?:always|never|every|each|all|no|nobody|only|any|before)\b",
    r"\b(?:anything|everything|any \w+|every \w+|each \w+)\b.{0,50}?\b(?:goes|gets?|needs?|has to|is to|stays?|requires?) "
    r"(?!wrong|well|fine|smoothly|worse|better)",
    r"\b(?:you|\w+s) (?:have to|need to|has to)\b.{0,60}?\b(?:always|every|each|all|any|first|before)\b",
    r"\bI (?:want|need|expect|insist on)\b.{1,50}?\b(?:(?:for|in|with|on|of) (?:every|each|all|any)\b|every |each |all )(?!.*\bby\b)",
    r"\bI (?:want|expect) (?:us|to see|nobody|no |only )\b|"
    r"\bI (?:want|need|like) (?:[\w']+ ){1,4}?(?:kept|left|shown|treated|written|handled|signed|checked)\b",
    r"^(?:for )?(?:anything|everything|all|any|every)\b.{1,60}:",
    r"^(?:all|every|each) (?!\w+ (?:is|are|was|were)\b)(?:[\w'-]+ ){1,4}?(?:goes?|gets?|stays?|uses?|carry|carries|needs?|comes?|runs?|"
    r"has to|have to|in|through|past|via|with|to|must)\b(?! through\b)",
    r"^(?!it\b|that\b|this\b|i\b|we\b|they\b|he\b|she\b|there\b).{1,80}\b(?:each|every) (?:single )?time\b(?! I\b)",
    r"^\w+ (?:everything|anything|all|every|each|any)\b.{0,60}\b(?:first|before|beforehand)\b",
    r"\bgo(?:es)? (?:to|in|into|through|via|by|under|on)\b.{1,50}, (?:not|never) (?:to|in|into|through|via|by|under|on)\b",
    r"^if (?:an?|any\w*|some(?:one|body|thing))\b.{3,80}?, (?!(?:i|we|it|he|she|they|you|that|there|what|the|i'm)\b)\w",
    r"^if (?:it's|it is|\w+ is|\w+ are|there's|there are|a \w+|an \w+|any\w*|some\w*)\b.{0,40}\b(?:more|less|over|under|above|"
    r"below|any\w*|a|an)\b.{1,60}, ",
    r"^(?!it\b|i\b|we\b|they\b|he\b|she\b|that\b|this\b|there\b)(?:[\w'-]+ ){1,4}only (?:between|after|from|in|on|at|during|via|"
    r"with|by|to|for)\b",
    r"\b(?:on|to|for|with|in) (?:whatever|whoever|whichever)\b",
    r"\b(?:address|refer to) .{1,30}? as\b|\b(?:has|have|gets) (?:the )?(?:last word|final say|final word|veto)\b",
    r"\bI want to be (?:told|asked|informed|copied|in cc|consulted|called|warned)\b",
    r"\b(?:let me|I want to|I(?:'d| would) like to) (?:see|approve|sign|review|check|read)\b.{0,40}?\b(?:before|first|every|each)\b",
)

_KINDS: tuple[tuple[Kind, tuple[str, ...]], ...] = (
    ("limit", _LIMIT),
    ("format", _FORMAT),
    ("prohibition", _PROHIBITION),
    ("preference", _PREFERENCE),
    ("requirement", _REQUIREMENT),
)

RULES: tuple[Cue, ...] = tuple(Cue(kind, re.compile(p, re.I)) for kind, patterns in _KINDS for p in patterns)
"""What announces a standing rule; the first that matches gives its kind."""
