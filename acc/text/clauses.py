"""Splits texts into sentences and English clauses and finds the clauses that restrict others.

Sentences may span line breaks; headings may govern a list. English clauses are recognized by
subject and verb; if that fails, they count as one. All functions are pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from acc.text.same_words import PAUSES, tokens

_NOT = (
    r"no|not|never|none|nobody|nothing|nowhere|neither|nor|cannot|\w+n['’]ts?|"
    r"(?:do|does|did|is|are|was|were|wo|ca|must|should|would|could|need|have|has|had|ai)nt|donts|without|only|solely|"
    r"exclusively|merely|unless|except\w*|otherwise|however|although|avoid\w*|refuse\w*|stop\w*|forbid\w*|forbade|"
    r"prohibit\w*|ban(?:s|ned)?|exclud\w*|omit\w*|refrain\w*|abstain\w*|hardly|rarely|seldom|wrong|taboo|off[- ]limits|"
    # German
    r"nicht|nichts|nie|niemals|niemand\w*|nirgends|kein\w*|weder|ohne|nur|bloß|lediglich|ausschließlich|außer|"
    r"ausgenommen|verboten|untersagt|vermeide\w*|"
    # French
    r"ne|n['’](?=\w)|pas|jamais|aucune?|rien|sans|sauf|seulement|uniquement|interdit\w*|évite\w*|hormis|excepté|"
    # Spanish, Portuguese, Italian
    r"nunca|jamás|nadie|nada|ningun\w*|ningún|tampoco|sin|sólo|solo|solamente|únicamente|salvo|excepto|prohibid\w*|"
    r"evit\w*|não|nem|sem|apenas|somente|exceto|non|mai|nessun\w*|senza|soltanto|tranne|vietat\w*"
)
_CONDITIONS = (
    r"if|when|whenever|where|wherever|while|whilst|until|till?|before(?! anything else\b)|after|once|during|provided|"
    r"providing|assuming|suppos(?:e|ing)|(?:as|so) (?:long|soon) as|in case|subject to|on condition|"
    r"wenn|falls|sofern|solange|sobald|bevor|ehe|bis|nachdem|während|si|lorsque|quand|avant|après|jusqu\w*|sinon|"
    r"cuando|antes|después|hasta|mientras|quando|até|prima|fino|finché"
)
_BOUNDS = (
    r"just|but|instead|rather|though|apart|besides|off|out|alone|first|since|pending|most|least|more|less|fewer|above|below|"
    r"under|over|beyond|within|max(?:imum)?|min(?:imum)?|up|down|cap(?:s|ped)?|limit(?:s|ed)?|tops|than|may|might|can|"
    r"could|allow\w*|permit\w*|ask\w*|approv\w*|confirm\w*|reject\w*|den(?:y|ie[sd])|every\w*|all|any\w*|each|always|"
    r"höchstens|mindestens|erst|statt|sondern"
)
_SCRIPTS = (
    r"ない|ません|なく|禁止|禁じ|だめ|ダメ|駄目|いけ|ならば|たら|れば|とき|時|まで|前に|後に|限り|のみ|だけ|以外|除|"
    r"不|别|勿|没|未|只|仅|如果|之前|마|않|없|금지"
)
MARKS = r"[<>≤≥≠❌✗✘❎🚫⛔👎]|~~|!="

_GOVERNS = re.compile(rf"\b(?:{_NOT}|{_CONDITIONS})\b|{_SCRIPTS}|{MARKS}", re.I)
_BINDS = re.compile(rf"(?:{_NOT}|{_CONDITIONS}|{_BOUNDS})|.*(?:{_SCRIPTS}).*|{MARKS}", re.I)
_OPENS = re.compile(rf"^\W*(?:and |or |but )?(?:{_CONDITIONS}|unless|except\w*|only)\b", re.I)

_ENGLISH = """
    the and of is it you we for that with have this my your please to are will be if what can don not they from
    by at has but all our how when should must only any every never always do keep a i me us
    because them use ask before after until unless without while who there their
    would could about like each than once off
"""
_FOREIGN = """
    und der das ist nicht ein eine einen mit für auf den dem des ich wir sie du ihr bitte bevor zu im vom wenn nur
    nie kein keine ohne bis oder aber de la le les el los las que et est pas une du dans vous nous sur por para con
    una del se favor antes não uma em os het een niet voor och att det som på är il che di gli jest się ne jamais
    sans au aux ce sin su lo al si nunca y
"""
ENGLISH = frozenset(_ENGLISH.split())
"""Function words that identify English text."""

FOREIGN = frozenset(_FOREIGN.split())
"""Function words that English lacks. A name may contain one or two."""


def governs(text: str) -> bool:
    """Whether ``text`` has a word that may forbid, restrict or condition its context."""
    return _GOVERNS.search(text) is not None


def subordinates(clause: str) -> bool:
    """Whether ``clause`` opens with a condition or an exception and needs another clause."""
    return _OPENS.match(clause) is not None


def binds(word: str) -> bool:
    """Whether omitting ``word`` could make a rule less restrictive or less conditional."""
    return _BINDS.fullmatch(word) is not None


Span = tuple[int, int]

# --- sentences across line breaks, and headings above a list ---------------------------------

_DOT = r"(?:[-*+•‣▪◦–—☐☑✓]|\[.?\]|\(?(?:\d{1,3}|[a-zA-Z])[.)])"
_ITEM = rf"[ \t]*(?:{_DOT}|[✗✘❌🚫])[ \t]+"
_IS_ITEM, _DOTTED = re.compile(_ITEM), re.compile(rf"\s*{_DOT}\s+")
_STOP = re.compile(
    rf"(?P<item>(?:\A|\n){_ITEM})|[.!?…]+[\"'”’)\]]*(?=\s)|[。！？]+[」』]?|\n[ \t]*(?=\n)|:[*_ \t]*(?=\n)|(?P<line>\n)"
)
_GOES_ON = re.compile(
    r"(?:[,;–—-]|\b(?:this|these|those|that|it|following|things?|circumstances|account|case|ever|below|"
    r"and|or|to|do|you|the|a|an|of|for|with|is|are|be))\W*$",
    re.I,
)


def sentence_spans(text: str) -> list[Span]:
    """Return the spans of the sentences. A line break ends a sentence if the next line begins another."""
    ends = [
        m.end() if not m["item"] else m.start() + 1 if m[0][0] == "\n" else 0
        for m in _STOP.finditer(text)
        if not m["line"] or _breaks(text, m.start())
    ]
    spans = pairwise(sorted({0, *ends, len(text)}))
    return [span for span in spans if text[slice(*span)].strip(" \t\r\n") not in ("", "*", "-")]


def sentences(text: str) -> list[str]:
    """Return the sentences of ``text`` and the lines of its lists."""
    return [text[a:b].strip("\n").rstrip() for a, b in sentence_spans(text)]


def heads_and_governs(line: str) -> bool:
    """Whether ``line`` is a heading that forbids, restricts or conditions the text below it."""
    return _HEADS.search(line.strip()) is not None and governs(line)


def _breaks(text: str, at: int) -> bool:
    line = text[max(text.rfind("\n", 0, at) + 1, at - 200) : at]
    following = text[at + 1 : at + 2]
    words = line.split()
    is_whole = len(words) >= 3 and not _GOES_ON.search(line) and not governs(words[-1])
    return is_whole and (following.isupper() or following.isdigit())


_TITLES = re.compile(r"^(?:#{1,6}\s|\*\*.*\*\*\W*$|__.*__\W*$)")
_HEADS = re.compile(
    r"^(?:#{1,6}\s|\*\*|__|(?:here (?:is|are)|here['’]s|these are|the following|what|things?)\b)|:[*_]*$|"
    r"\b(?:this|these|those|following)\W*$",
    re.I,
)


def above(text: str, spans: Sequence[Span], first: int) -> list[Span]:
    """Return the spans above sentence ``first`` that head its list or paragraph and govern it."""
    found: list[Span] = []
    depth, is_beyond = _depth(text, spans[first]), False
    for n in range(first - 1, -1, -1):
        line, level = text[slice(*spans[n])], _depth(text, spans[n])
        titles, heads = _TITLES.search(line.strip()), _HEADS.search(line.strip())
        if level < depth or (level == depth and (titles or (heads and not is_beyond))):
            depth = level
            if governs(line):
                found.append(spans[n])
            if titles:
                break
        elif not heads and "\n\n" in re.sub(r"[ \t]", "", text[spans[n][0] : spans[n + 1][0] + 1]):
            is_beyond = True
    return found


def _depth(text: str, span: Span) -> int:
    """0 for plain text, at least 1 for a list item, growing with indentation."""
    line = text[slice(*span)].strip("\n")
    return 1 + len(line) - len(line.lstrip()) if _IS_ITEM.match(line) else 0


_TAKES_BACK = re.compile(
    r"^\W*(?:(?:no|nope|never|not|don['’]?t|do not|nein|nicht|non|jamais|nunca)\W*$|no(?:[,!]| wait| way)|"
    r"not (?:really|yet|the|on|in|for|if|until|till|before|when|with|without|at|to|by|that)\b|"
    r"(?:but|except|unless|however|although|though|only if|just kidding|kidding|joking|wait|scratch that|"
    r"aber|außer|mais|sauf|pero|salvo)\b|ただし|でも|しかし)",
    re.I,
)


def takes_back(sentence: str) -> bool:
    """Whether ``sentence`` denies or limits the previous one."""
    return _TAKES_BACK.match(sentence) is not None


def undotted(text: str) -> str:
    """Return ``text`` on one line, without a list marker."""
    dot = _DOTTED.match(text)
    return " ".join(text[dot.end() if dot else 0 :].split())


# --- English clauses ------------------------------------------------------------------------

JOINT = re.compile(r"[,;:.!?](?=\s)|\s[-–—]+(?=\s)|[()]|…|\s(?=(?:because|so that)\b)", re.I)
_OWN_SUBJECT = re.compile(
    r"^\W*(?:(?:and|but|so|plus|also|then) )*(?:i|you|we|he|she|they|there|every\w*|any\w*|some\w*|all|each|the|an?|"
    r"my|our|your|his|her|their|its|(?-i:[A-Z])[\w-]*|\d\S*)(?:['’](?:s|ll|re|m|d|ve))?\s",
    re.I,
)
_FINITE = re.compile(
    r"\b(?:is|are|was|were|am|has|have|had|do|does|did|can|could|may|might|must|shall|should|will|would|needs?|goes|go|"
    r"gets?|stays?|comes?|runs?|signs?|decides?|wants?|takes?|keeps?|holds?|says?|knows?|phones?|writes?|flies|"
    r"\w+n['’]t|\w+['’](?:s|ll|re|m|d|ve))\b",
    re.I,
)
_BACK = re.compile(r"\b(?:that|this|it|so|them|those|these|either|neither|none)\b", re.I)
_FORBIDS_MORE = re.compile(
    r"^\W*(?:and (?:please )?not an? (?!.*\b(?:than|before|after|until|till|without|more|less|if|when|later|longer|"
    r"sooner|earlier|further|else|extra|over|above|below|under|beyond|past|from|outside|inside|other|unless|except|"
    r"while|during|once|whenever)\b)|"
    r"(?:and (?:please )?no|(?:and|but) (?:please )?(?:never|don['’]?t|do not)) "
    r"(?!(?:need|wait|way|one|thanks?|before|after|until|till|on|in|at|by|with|without|if|when|for|to|that|this|it|"
    r"them|so|do|any|really|ever|the other|over|under|above|below|beyond|past|via|through|during|outside|inside|"
    r"within|near|from|of|as|per|while|whenever|unless|except|once|twice|again|alone|together|else|others?|all|"
    r"every\w*|more|less|fewer|(?:lat|earli|soon|long|furth|clos|high|low|larg|bigg)er|exceed|"
    r"go (?:over|above|beyond|past)|(?!(?:re|ap|sup|com|multi)ply|rely|fly)\w+ly)\b))\w+",
    re.I,
)
"""A second prohibition. Words that would limit the clause before it, such as "but never over the phone", are none."""


def clause_spans(text: str, whole: Span, quote: Span) -> list[tuple[Span, bool, bool]]:
    """Return the clauses of the quote and the clauses that govern it, inside the sentences ``whole``.

    Each has a span, ``is_own`` and ``is_loose`` (`acc.text.quoting.Clause`). If the quote cuts off a governing
    part of its clause, the whole clause is returned.
    """
    cuts = [m.end() for m in JOINT.finditer(text, *whole) if m.end() < whole[1]]
    spans = list(pairwise((whole[0], *cuts, whole[1])))
    clauses = [text[slice(*span)] for span in spans]
    inside = [n for n, (a, b) in enumerate(spans) if a < quote[1] and quote[0] < b]
    governing = {g for n in inside for g in (*_before(clauses, n), *_behind(clauses, n))}
    found = [(spans[n], False, False) for n in governing.difference(inside)]
    for n in inside:
        is_loose = n not in governing and (_stands_alone(clauses[n]) or not _binds(clauses[n]))
        found.append((_widened(text, spans[n], quote), True, is_loose))
    return sorted(found)


def _widened(text: str, clause: Span, quote: Span) -> Span:
    """The quoted part of ``clause``; all of it if the rest governs the quote."""
    start, end = max(clause[0], quote[0]), min(clause[1], quote[1])
    before, behind = text[clause[0] : start], text[end : clause[1]]
    if governs(f"{before} {behind}"):
        return clause
    return start, clause[1] if set(behind) <= set(" \n.,;:!?)") else end


def _before(clauses: Sequence[str], first: int) -> Iterator[int]:
    """Indexes of clauses before ``first`` that may govern it."""
    is_apart = False
    for n in range(first - 1, -1, -1):
        introduces = clauses[n].rstrip().endswith(":")
        is_another = _stands_alone(clauses[n + 1]) or _FORBIDS_MORE.match(clauses[n + 1])
        is_apart = is_apart or (bool(is_another) and not introduces)
        opens = subordinates(clauses[n]) and (n == 0 or not _stands_alone(clauses[n]))
        if governs(clauses[n]) and (not is_apart or introduces or (opens and n == 0)):
            yield n


def _behind(clauses: Sequence[str], last: int) -> Iterator[int]:
    """Indexes of clauses after ``last`` that may govern it."""
    is_apart = False
    for n in range(last + 1, len(clauses)):
        is_apart = is_apart or _begins_another(clauses[n])
        if governs(clauses[n]) and (not is_apart or subordinates(clauses[n])):
            yield n


def _stands_alone(clause: str) -> bool:
    """Whether a clause has its own subject and verb, so earlier clauses do not govern it."""
    return _OWN_SUBJECT.match(clause) is not None and _FINITE.search(clause) is not None


def _begins_another(clause: str) -> bool:
    """Whether a clause starts a new statement instead of limiting the previous one."""
    if _FORBIDS_MORE.match(clause):
        return True
    words = clause.split() or [""]
    back = _BACK.search(clause) or governs(words[-1]) or words[-1].strip(".!") == "to"
    return _stands_alone(clause) and not back


_LETTERS = re.compile(r"[^\W\d_]+")


def is_english(text: str) -> bool:
    """Whether ``text`` is certainly English, judged by its function words and non-ASCII words."""
    words = [word.casefold() for word in _LETTERS.findall(text)]
    ours, theirs = (sum(word in known for word in words) for known in (ENGLISH, FOREIGN))
    return ours > 2 * theirs + sum(not word.isascii() for word in words)


def _binds(clause: str) -> bool:
    """Whether a clause has a name, a number, or a word that forbids, bounds or permits."""
    words = [token for token in tokens(clause) if token not in PAUSES]
    return any(
        not word.isalpha() or binds(word) or (n > 0 and word[0].isupper() and word != "I")
        for n, word in enumerate(words)
    )
