"""What announces a goal, its end, and another topic, as tables."""

from __future__ import annotations

from acc.compressors.rules.words import any_of, one_of

_DEADLINE = (
    r"\b(?:by (?:the )?"
    + one_of(
        """end of, close of, start of, next, this, noon, tonight, tomorrow, \\w+day, january, february,
    march, april, may, june, july, august, september, october, november, december, \\d+"""
    )
    + r"|before (?:he|she|they|we|I|the|noon|lunch|tomorrow|\w+day)\b)"
)
_LARGE = one_of(
    """organi[sz]e, plan, arrange, migrate, build, set up, put together, prepare, roll out, launch,
    coordinate, reconcile, translate, onboard, negotiate, work out, draw up, sort out"""
)
_WORK = one_of(
    """get, collect, gather, work through, find, produce, compile, deliver, complete, finish,
    finali[sz]e, write, draft, clear, clean up, review, investigate, resolve, fix, run, write up, hire, audit,
    assess"""
)
_WORK = rf"(?:{_LARGE}|{_WORK})"
_FIX = one_of(
    """fix, repair, resolve, solve, investigate, diagnose, debug, troubleshoot, refactor, implement,
    track down, get to the bottom of"""
)
_FATHOM = one_of("find out, figure out, work out, establish, investigate, determine")
_THING = one_of("the, this, that, these, those, our, my, why, a, an, \\w+'s") + (
    r" \w(?!.*\b(?:within|every|each|always|never|at most)\b)"
)
COULD_YOU = rf"^\W*(?:can|could|would|will) you (?:please )?{_LARGE}"

GOALS = any_of(
    r"\b(?:I'd|I would|we'd|we would) (?:like|love|want) "
    r"(?:you to|to (?:have|get|see)|an? |the |that |this |all )",
    r"\b(?:I|we) (?:need|want|have) (?:you to|us to|to (?:have|get) )",
    rf"\b(?:I|we) need (?:you )?(?:to )?{_WORK}|\bI want to know why\b",
    r"\bI want (?:the|this|that|our|my) .{3,}",
    r"\bI(?:'ll| will) (?:want|need|expect) (?:an?|the|your)\b",
    r"\b(?:I|we) need (?:an?|the|this|that|all|our|my|one|two|three|some|every)\b.{3,}",
    r"\b(?:your|the|our|my) (?:task|job|goal|aim|objective|mission|assignment|target|brief)"
    r"(?: here| now| today)? (?:is|will be|would be)\b(?! (?:fine|ok|done|clear))",
    COULD_YOU,
    rf"^\W*help (?:me|us) (?:to )?{_WORK}",
    rf"\bplease (?:\w+ )?{_WORK}.{{0,120}}?(?:{_DEADLINE}|\btogether\b|\bready\b|\bunder way\b)",
    rf"(?:^|[,:]\s|\bplease |\band |\bto ){_WORK}.{{3,80}}?"
    r"\b(?:together|ready|done|sorted|finished|cleared)\b",
    rf"^\W*(?:(?:and|then|please|also|now) )*{_WORK}.{{3,120}}?{_DEADLINE}",
    rf"^\W*(?:(?:and|then|please|also|now) )*(?:{_FIX} {_THING}|{_FATHOM} (?:why|how|what|where|who)\b)",
    r"\bwe(?:'re| are) (?:planning|trying|aiming) to\b|\bthe (?:plan|idea) is to\b|"
    r"\bby the end of\b.{0,60}\bwe\b",
)
"""Asks for something to be achieved."""

SMALL = any_of(
    r"\b(?:a|one|two|three|\d) (?:quick )?" + one_of(
        """sentences?, lines?, words?, minutes?, moment, second, hand, break, coffee, look,
        favou?r, holiday, hint, reminder"""
    ),
    r"\b(?:I|we) need (?:an?|the|some|this|that|all) (?:\w+ )?" + one_of(
        "answer, numbers?, figures?, time, rest, help, idea"
    ),
    r"\b(?:right now|straight away|immediately|quickly|asap)\b|\bI need to\b",
    r"\bI'd (?:like|love) to (?:know|hear|think|say|ask|understand|see)\b",
    r"\bI want to (?:see|hear|say|be)\b",
)  # fmt: skip
"""Over with the turn."""

DONE = any_of(
    r"(?:\b(?:is|are|that's|all|was|were|has been|have been|be|now)|'s) (?:now |all |finally )?"
    + one_of(
        """done, closed, completed?, finished, sorted, delivered, wrapped up, ticked off,
        accomplished, settled, off the list, fully \\w+ed"""
    ),
    r"^\W*(?:all )?(?:(?:done|completed|finished|closed)\b|(?:complete|set)(?=\W*$|[,.;:!]))",
    r"\b(?:close|tick off|wrap up) (?:it|that|this|the)\b",
    r"\b(?:has|have) (?:all )?(?:been )?(?:completed|gone live|gone out|shipped|landed)\b",
)
CANCELLED = any_of(
    r"\b(?:scrap|forget|drop|cancel|ditch|never ?mind) (?:about )?(?:the|that|our|my|this)\b",
    r"(?:\b(?:is|are|was|has been|have been)|'s) (?:cancelled|canceled|called off|off the table)\b",
    r"\bno longer (?:needed|necessary|wanted)\b",
)
"""Says that something is not to be achieved any more."""

PROMISED = any_of(
    r"\b(?:I'll|I will|I shall|we'll|we will|we shall)\b",
    r"\b(?:I|we) keep\b|\b(?:I'm|we're|I am|we are) (?:going|working|keeping|on)\b",
    r"\b(?:is|are) (?:started|begun|under ?way|running)\b|\bgoes on until\b|\bas we go\b",
    r"\bwill be (?:ready|done|finished|with you|there|on|in|out)\b|\bto be (?:ready|done|finished)\b",
)  # fmt: skip
"""Says that the agent has taken on what it was asked for, and not yet done it."""

NEW_TOPIC = any_of(
    r"^\W*(?:new|next|another|different) " + one_of(
        "topic, subject, matter, thing, project, case, patient, client, ticket, question"
    ),
    r"\b(?:switching|moving on|turning|let's (?:move|turn|switch|get on)) to\b",
    r"\bchange of (?:topic|subject)\b|\b(?:forget|leave) (?:all )?that(?: for now)?,",
    r"\b(?:on|to) (?:another|a different) (?:topic|note|subject|matter)\b",
)  # fmt: skip
"""Announces that the talk turns to something else."""
