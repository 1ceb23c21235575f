"""Words that forbid, restrict, bound, permit or make conditional, in the languages that users write.

What they govern may only be understood with them. The lists err towards too many words: one too
many costs a rule some length, one too few its meaning.
"""

from __future__ import annotations

import re

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
    r"if|when|whenever|where|wherever|while|whilst|until|till?|before|after|once|during|provided|providing|assuming|"
    r"suppos(?:e|ing)|(?:as|so) (?:long|soon) as|in case|subject to|on condition|"
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

_GOVERNS = re.compile(rf"\b(?:{_NOT}|{_CONDITIONS})\b|{_SCRIPTS}|{MARKS}", re.IGNORECASE)
_BINDS = re.compile(
    rf"(?:{_NOT}|{_CONDITIONS}|{_BOUNDS})|.*(?:{_SCRIPTS}).*|{MARKS}", re.IGNORECASE
)
_OPENS = re.compile(
    rf"^\W*(?:and |or |but )?(?:{_CONDITIONS}|unless|except\w*|only)\b",
    re.IGNORECASE,
)

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
"""Function words that say a text is English."""

FOREIGN = frozenset(_FOREIGN.split())
"""Function words that English lacks; a name may bring along one or two."""


def governs(text: str) -> bool:
    """Whether ``text`` has a word that may forbid, restrict or condition what stands beside it."""
    return _GOVERNS.search(text) is not None


def subordinates(clause: str) -> bool:
    """Whether ``clause`` opens with a condition or an exception, so that it needs another clause."""
    return _OPENS.match(clause) is not None


def binds(word: str) -> bool:
    """Whether a rule without ``word`` could be less restrictive or less conditional than with it."""
    return _BINDS.fullmatch(word) is not None
