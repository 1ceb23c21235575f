"""The page of the study: the tables, and what is to be said of them."""

from __future__ import annotations

from . import tables
from .orderings import VERDICTS, orderings
from .paper_figures import AGENTS
from .study import Study


def page(study: Study, command: str, seeds: str) -> str:
    """The page, as Markdown.

    Args:
        study: All of `acc`'s conditions of the agents that it has.
        command: What produced it.
        seeds: The seeds, in words.
    """
    parts = [_INTRODUCTION.format(command=command, seeds=seeds), _LIMITS, _verdicts(study)]
    sections = (
        ("Table 1: addition", _ADDITION, tables.addition_rows(study)),
        ("Table 2: deletion", _DELETION, tables.deletion_rows(study)),
        ("The threshold of history-based deletion", _BETA, tables.beta_rows(study)),
        ("Experience following (Figures 3, 9)", _FOLLOWING, tables.following_rows(study)),
        ("Misaligned experience replay (Figures 5, 11, 12)", _REPLAY, tables.replay_rows(study)),
        ("Shift (Figure 6)", _SHIFT, tables.shift_rows(study)),
        ("Capacity (Figures 7, 18)", _CAPACITY, tables.capacity_rows(study)),
        ("Noisy start (Figure 17)", _NOISE, tables.noise_rows(study)),
        ("Ordering by ordering", _ORDERINGS, tables.ordering_rows(study)),
        ("The bound of a periodical deletion", _BOUND, tables.bound_rows()),
    )
    for title, text, rows in sections:
        if len(rows) > 2:
            parts.append("\n".join([f"## {title}\n", text, "", *rows]))
    return "\n\n".join([*parts, _MODELS]) + "\n"


def _verdicts(study: Study) -> str:
    head = ["## What comes out, and what does not\n", _UNDECIDED, ""]
    rows = ["| agent | " + " | ".join(VERDICTS) + " |", "| --- " * (len(VERDICTS) + 1) + "|"]
    for family in dict.fromkeys(condition.family for condition in study):
        found = [one.verdict for one in orderings(study, family) if one.kind != "records"]
        counts = " | ".join(str(found.count(verdict)) for verdict in VERDICTS)
        rows.append(f"| {AGENTS[family]} | {counts} |")
    return "\n".join(head + rows)


_INTRODUCTION = """# Experience memory: the paper's experiment

How addition and deletion decide what an agent becomes that is shown its own past (arXiv 2505.16067), run
through `ExperienceMemory` with the paper's policies and defaults. All from one run of

    {command}

Success in percent; {seeds}. `±` is the 95 percent interval of a mean over seeds (Student's t). Every
condition of a seed meets the same tasks with the same luck, so that differences are paired. The same seeds give
the same bytes."""

_LIMITS = """## What a simulation can show, and what not

The three agents are simulated. **That they follow demonstrations is built in, not found:** the chance
(code, packets) or weight (trajectories) of following grows with the similarity of the task, by a
logistic curve. The rest is real. The retrieval, the policies and the bookkeeping are the library's. A
program is parsed and run on tables, a trajectory is measured in metres, a wrong demonstration that is
followed gives a wrong execution, and only its evaluator tells the memory what is wrong. So the figures
show what the policies do to an agent that follows. They do not show how much a language model follows,
nor how well a model judges.

The parameters of the families were set by hand on seed 0, which is not reported. The aims were the
level of the fixed memory (the paper's 16.89, 40.53 and 60.25) and a coarse evaluator that refuses more
than a few. Thirty-one settings were run (code 9, trajectories 12, packets 10), the other rows were
visible meanwhile, and the last setting of each is reported. So **the orderings are not blind to the
settings**. Over all settings, one seed each, not part of the command above:

- Held in every setting: strict better than fixed (code); all worse than fixed (code, trajectories);
  coarse worse than fixed (trajectories); history-based deletion under strict addition empties the
  memory (code), and never helps (trajectories).
- Strict better than fixed: 9 of 10 (packets); 5 of 12 (trajectories), the five among the settings with
  a steadier hand, and all four with a fixed memory below 59.5.
- **Coarse better than fixed: only in the setting reported** (code 1 of 9, packets 1 of 10). All worse
  than fixed: 9 of 10 (packets), but not in the setting reported.
- History better than no deletion under strict addition: 2 of 10 (packets), and not in the setting
  reported.
- The code agent's questions were made alike and hard by kind, because history-based deletion emptied
  its memory; it did so all the same.

The tasks, and what a coarse evaluator believes:

- **EHRAgent**: questions about one of four tables; a one-line program in a small language, really run
  on them. Believed is whatever runs and prints something.
- **AgentDriver**: speed, acceleration, yaw rate, history and goal; six way points. Believed is what
  goes on toward the goal at about the car's speed.
- **CIC-IoT**: 12 measures and 10 flags of a packet; reasoning and one of 28 classes. Believed is a
  class among the two likeliest by notions of the evaluator's own.

Departures from the paper:

- The tasks are synthetic. Lexical vectors of questions, without values, replace a dense encoder;
  k-means replaces a Gaussian mixture.
- The similarity of the driver's executions is to the record shown, not to the truth. Its coarse
  evaluator says yes or no, so its threshold is one half, not 5 metres.
- History-based deletion takes "more than n" from the formula; the text says "at least". All records
  that meet it go, as in the formula; the paper's released code for AgentDriver deletes one an
  execution, the worst, and never the last one."""

_UNDECIDED = """Compared is the direction of each difference, on the same tasks and luck; the table [ordering by
ordering](#ordering-by-ordering) has each. A difference is undecided if its interval contains 0. The
intervals are not corrected for their number: of twenty without any effect, one excludes 0. That a
deletion keeps fewer records is left out. "The other way round" means that a follower under these
policies need not do as the paper's agents did; nothing more is claimed of them."""

_ADDITION = """The error-free column is the same agent with the same demonstrations and correct executions, as in
Figure 4: the gap is what errors in memory cost."""

_DELETION = """The paper prints the combined deletion as a product, which deletes what both would; its sizes are those
of a union. Both are here."""

_BETA = """EHRAgent's family, strict addition. A record stays while the tasks that it was shown for succeed by more
than beta on the mean. A likely reason for the empty memory at the paper's beta, not tested further:
most tasks here fail with right demonstrations too (the error-free column), and every record shown for
one is blamed; the fewer are left, the more tasks each is shown for."""

_FOLLOWING = """Means over all tasks, of the most similar record shown. The correlation is over
tasks."""

_REPLAY = """Strict addition with history-based deletion. For each task, the record shown whose execution was most like
the one done: tasks for which it was deleted in the end against those for which it was retained."""

_SHIFT = """Tasks by cluster, one cluster after the other."""

_CAPACITY = """Periodical deletion, then the least useful record, after each execution; a start no larger than the
bound."""

_NOISE = """AgentDriver's first 500 tasks; normal noise of variance 5 on each coordinate of the initial memory."""

_ORDERINGS = """Points of success, or records, by which the left side of each sentence holds; negative where it does
not."""

_BOUND = """K retrievals in each of t - t' executions are K (t - t') in all; each survivor took at least alpha + 1.
So at most K (t - t') / (alpha + 1) records survive, and what came within the period.
The paper prints alpha (t' - t) K."""

_MODELS = """## With a model as the agent

    python -m benchmarks.experience --agent openai:MODEL --judge openai:MODEL --family cic-iot --tasks 100 --seeds 1

Any name that `acc` takes for a model. The model reads the family's instruction, the demonstrations and the task; with
`--judge` the coarse evaluator is a model too. The error-free variant, which would ask everything twice, is left out.
Each task is a call, and with `--judge` two; every condition asks anew."""
