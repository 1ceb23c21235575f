"""How often an honest judge errs: labelled claims that a user's later words end a rule.

    python benchmarks/judge_claims.py [--model NAME] [--errors]

Each of 239 claims is what a lying compressor would say: a rule, an agent's message, a user's message, and a sentence of
it that is said to end the rule. 40 of them do, in many wordings. The others ask, report what somebody else said, allow
one exception, are about something else, or are wished, conditional or taken back. A fifth is not in English. One model
wrote the claims with their labels; another one, which saw only the judge's requests, gave the recorded answers. With
``--model`` yours is asked.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from acc.compress.judge import MOST_CLAIMS, ModelJudge
from acc.driving import perform
from acc.models import RecordedModel, as_model
from acc.state.policy import Policy
from acc.state.proposal import Proposal, ProposedLater, ProposedPin
from acc.state.reading import Claim, Reading, claim_digest
from acc.step.update import update_state
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn

HERE = Path(__file__).parent
CLAIMS = HERE / "data" / "judge_claims.jsonl"
ANSWERS = HERE / "answers" / "judge-claims.jsonl"

Case = Mapping[str, str]


def cases() -> list[Case]:
    """Return the labelled claims."""
    return [json.loads(line) for line in CLAIMS.read_text("utf-8").splitlines()]


def claim_of(case: Case) -> Claim:
    """Return the claim that a compressor makes of a case, as a step puts it to its judge."""
    found: list[Claim] = []

    def compress(reading: Reading) -> Proposal:
        if reading.number == 1:
            return Proposal(rules=(ProposedPin(quote=case["rule"], ref="u1"),))
        said = [each.ref for each in reading.messages if each.channel is Channel.USER][-1]
        held = reading.state.constraints[0].id
        return Proposal(later=(ProposedLater(held, case["quote"], said, ends=True),))

    def judge(claims: Sequence[Claim]) -> list[Any]:
        found.extend(claims)
        return []

    how: dict[str, Any] = {
        "model": compress,
        "judge": judge,
        "policy": Policy(lifting="judge"),
    }
    step = update_state(None, Turn.said(case["rule"]), **how)
    said = [(Channel.AGENT, case["agent"]), (Channel.USER, case["user"])]
    seen = tuple(Observation(channel=who, text=text) for who, text in said if text)
    update_state(step.state, Turn(observations=seen), tail=step.tail, **how)
    return found[0]


def judged(model: Any, given: Sequence[Case]) -> Iterator[str]:
    """Yield the verdict of each case; ``none`` where the model gave none."""
    judge = ModelJudge(model)
    claims = [claim_of(case) for case in given]
    for start in range(0, len(claims), MOST_CLAIMS):
        some = claims[start : start + MOST_CLAIMS]
        verdicts = {each.digest: each.verdict for each in perform(judge.judging(some))}
        yield from (verdicts.get(claim_digest(each.item), "none") for each in some)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the verdicts by kind."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--model", help="a model to ask, such as openai:NAME; else the recorded answers"
    )
    parser.add_argument(
        "--errors", action="store_true", help="print the claims that were judged wrongly"
    )
    given = parser.parse_args(arguments)
    asked = cases()
    model = as_model(given.model) if given.model else RecordedModel(ANSWERS)
    verdicts = list(judged(model, asked))
    counts = Counter((case["kind"], verdict) for case, verdict in zip(asked, verdicts, strict=True))
    wrong = 0
    for case, verdict in zip(asked, verdicts, strict=True):
        if (verdict == "ends") != (case["truth"] == "ends"):
            wrong += 1
            if given.errors:
                print(f"{verdict}: {case['kind']}: {case['rule']!r}; {case['user']!r}")
    for kind in sorted({case["kind"] for case in asked}):
        told = ", ".join(f"{n} {v}" for (of, v), n in sorted(counts.items()) if of == kind)
        print(f"{kind:13} {told}")
    print(f"{wrong} of {len(asked)} claims judged wrongly")


if __name__ == "__main__":
    main()
