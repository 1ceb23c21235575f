"""``acc show``, ``diff``, ``threads`` and ``verify``: read the audit logs; ``verify`` also lists the store."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from acc.audit.forms import UnderOtherForm
from acc.audit.record import diff as changes_between
from acc.audit.verify import verify as verify_log
from acc.cli import options
from acc.cli.logged import LoggedThread, labels, logged_thread, logged_threads, logs_of
from acc.cli.opening import FIX_LOGS, Policies, opened, policy_of, state_key
from acc.cli.output import count, print_json, print_table
from acc.errors import AuditError, InputError, StoreLockedError
from acc.evidence.log_health import Mismatch, compare_logs
from acc.schema.catalog import Schema, schema_named
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.reasons import Reason
from acc.stores.protocol import UNNAMED


def show(
    memory: options.MemoryOption = options.DEFAULT_MEMORY,
    thread: options.ThreadOption = None,
    turn: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, help="Show the state after this turn. [default: the last]"
        ),
    ] = None,
    style: options.StyleOption = None,
    provenance: Annotated[
        bool, typer.Option("--provenance", help="Show each item with its sources and trust.")
    ] = False,
    schema: options.SchemaOption = None,
    json: options.JsonOption = False,
) -> None:
    """Show the state that the agent reads."""
    logged = logged_thread(memory, thread)
    policy = policy_of(logged.last, schema=schema, style=style)
    state = _state_after(logged, policy, turn)
    rendered = policy.rendered(state)
    tokens = policy.counter(rendered)
    if json:
        print_json({
            "thread": logged.thread.model_dump(), "turn": state.turn, "tokens": tokens,
            "rendered": rendered, "state": state.canonical(),
        })  # fmt: skip
        return
    limit = f"{tokens:,} of at most {policy.max_tokens:,} tokens"
    print(f"thread {logged.thread.thread!r}, after turn {state.turn:,}: {limit}\n")
    if not provenance:
        print(rendered)
        return
    rows = [
        (item.id, slot.name, item.words, item.trust.word + (", endorsed" if item.endorsed else ""),
         " ".join(item.sources), str(item.turn))
        for slot, item in state.items()
    ]  # fmt: skip
    print_table(("id", "slot", "text", "trust", "sources", "turn"), rows, wrap=("text", "sources"))


def threads(
    memory: options.MemoryOption = options.DEFAULT_MEMORY, json: options.JsonOption = False
) -> None:
    """List the threads of a memory."""
    damaged: list[AuditError] = []
    found = logged_threads(memory, damaged)
    if json:
        print_json([
            {**each.thread.model_dump(), "turns": last["state"]["turn"],
             "tokens": last["tokens"], "at": last["at"], "log": each.log.where}
            for each in found if (last := each.last)
        ])  # fmt: skip
    else:
        _print_threads(found)
    if damaged:
        raise damaged[0]


def _print_threads(found: Sequence[LoggedThread]) -> None:
    if not found:
        print("no thread has a commit")
        return
    rows: list[list[str]] = [
        [each.thread.thread, f"{last['state']['turn']:,}", f"{last['tokens']:,}",
         last["at"], each.log.stem]
        for each in found if (last := each.last)
    ]  # fmt: skip
    headings = ["thread", "turns", "tokens", "last commit", "log"]
    owners = [(each.thread.user, each.thread.agent, each.thread.tenant) for each in found]
    if set(owners) - {(UNNAMED,) * 3}:
        headings += ["user", "agent", "tenant"]
        rows = [[*row, *owner] for row, owner in zip(rows, owners, strict=True)]
    print_table(headings, rows, wrap=("thread", "log"))


def _state_after(
    logged: LoggedThread, policy: Policy, turn: int | None
) -> CompressedCognitiveState:
    """The state after ``turn`` on the branch of the newest state; the newest state if None."""
    newest = logged.last["state"]
    if turn is None or turn == newest["turn"]:
        return policy.schema.load(newest)
    for record in logged.newest_first():
        if record["state"]["turn"] == turn:
            return policy.schema.load(record["state"])
        if turn == 0 and record["state"]["turn"] == 1 and "prior_state" in record:
            return policy.schema.load(record["prior_state"])
    raise InputError(
        f"no turn {turn}",
        where=f"thread {logged.thread.thread!r}",
        hint=f"name a turn from 1 to {newest['turn']}",
    )


_SIGNS = {"added": "+", "removed": "-", "changed": "~"}
_HIDDEN_REASONS = (Reason.CARRIED, Reason.CITES_NARROWED)
_HIDDEN_FIELD = "touched"


def diff(
    first: Annotated[
        int | None, typer.Argument(help="The earlier turn. [default: one before the later]", min=0)
    ] = None,
    second: Annotated[
        int | None, typer.Argument(help="The later turn. [default: the last]", min=0)
    ] = None,
    memory: options.MemoryOption = options.DEFAULT_MEMORY,
    thread: options.ThreadOption = None,
    schema: options.SchemaOption = None,
    json: options.JsonOption = False,
) -> None:
    """Show what changed between two turns, and why.

    The signs: + added, - removed, ~ changed.
    """
    logged = logged_thread(memory, thread)
    until = logged.last["state"]["turn"] if second is None else second
    since = until - 1 if first is None else first
    if since >= until:
        raise InputError(
            f"turn {since} is not before turn {until}",
            where=f"thread {logged.thread.thread!r}",
            hint="name the earlier turn first",
        )
    policy = policy_of(logged.last, schema=schema)
    before, after = (_state_after(logged, policy, turn) for turn in (since, until))
    reasons = _reasons(logged, since, until)
    changes = [
        {**change, "reasons": reasons[change["id"]]}
        for change in changes_between(before, after)
        if change["change"] != "changed" or set(change["fields"]) - {_HIDDEN_FIELD}
    ]
    if json:
        print_json({
            "thread": logged.thread.model_dump(), "from": since, "to": until, "changes": changes,
        })  # fmt: skip
        return
    print(
        f"thread {logged.thread.thread!r}, turn {since:,} to {until:,}: {count(len(changes), 'change')}"
    )
    for change in changes:
        print("\n".join(_change_lines(change)))


def _reasons(logged: LoggedThread, since: int, until: int) -> defaultdict[str, list[Any]]:
    """The notes of the commits in between, by item id, in order of turns."""
    found: defaultdict[str, list[Any]] = defaultdict(list)
    for record in logged.newest_first():
        turn = record["state"]["turn"]
        if turn <= since:
            break
        for note in record["notes"] if turn <= until else ():
            if note["item"] and note["reason"] not in _HIDDEN_REASONS:
                reason = {"turn": turn, "reason": note["reason"], "detail": note["detail"]}
                found[note["item"]].append(reason)
    for reasons in found.values():
        reasons.sort(key=lambda each: int(each["turn"]))
    return found


def _change_lines(change: dict[str, Any]) -> list[str]:
    text = change.get("says", change.get("said", ""))
    lines = [f"{_SIGNS[change['change']]} {change['id']} {change['slot']}: {text}".rstrip(": ")]
    for name, values in change.get("fields", {}).items():
        if name != _HIDDEN_FIELD:
            old, new = (" ".join(map(str, v)) if isinstance(v, list) else str(v) for v in values)
            lines.append(f"    {name}: {old} -> {new}")
    for why in change["reasons"]:
        detail = f" ({why['detail']})" if why["detail"] else ""
        lines.append(f"    turn {why['turn']}: {why['reason']}{detail}")
    return lines


def verify(
    memory: options.MemoryOption = options.DEFAULT_MEMORY,
    thread: Annotated[
        str | None, typer.Option(metavar="NAME", help="Check this thread. [default: all threads]")
    ] = None,
    head: Annotated[
        str,
        typer.Option(
            metavar="DIGEST",
            help="Also check that the log ends with this record. Keep the digest that verify "
            "prints outside the memory.",
        ),
    ] = "",
    schema: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A schema that earlier commits used and that cannot be loaded by its recorded "
            "name, such as file.py or module:Class. Repeatable.",
        ),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=64, help="The token limit of the commits. [default: the recorded one]"
        ),
    ] = None,
    json: options.JsonOption = False,
) -> None:
    """Check the audit logs by recomputing every commit.

    Also tells what an embedded store has and the logs lack, and the other way round.
    """
    schemas = [schema_named(name) for name in schema or ()]
    found = _all_threads(memory) if thread is None else [logged_thread(memory, thread)]
    if head and len(found) != 1:
        hint = "name the thread with --thread"
        raise InputError(f"one head for {len(found)} threads", where=str(memory), hint=hint)
    known = Policies()
    results = (_recompute(each, head, known, schemas, max_tokens) for each in found)
    if json:
        recomputed = list(results)
        differ = _against_store(memory, found, everything=thread is None)
        print_json([
            {**each.thread.model_dump(), "log": each.log.where, **result._asdict(),
             "other_forms": [form._asdict() for form in result.other_forms],
             "torn_bytes": each.log.torn_bytes(),
             "head": last["digest"], "state": last["state"]["hash"],
             "store": [one.what for one in differ if one.thread == each.thread]}
            for each, result in zip(found, recomputed, strict=True) if (last := each.last)
        ])  # fmt: skip
    else:
        for label, each, result in zip(labels(found), found, results, strict=True):
            print(_verified(label, each, result))
        differ = _against_store(memory, found, everything=thread is None)
    _refuse(differ, memory)


def _verified(label: str, each: LoggedThread, result: _Counts) -> str:
    commits, redacted, earlier, others = result
    whole = commits - redacted - earlier - sum(form.commits for form in others)
    parts = [f"{label}: {count(whole, 'commit')} recomputed, all equal"]
    parts += [line for form in others for line in _of_form(form)]
    if redacted:
        parts.append(f"{redacted:,} redacted by an erasure, not recomputed")
    if earlier:
        parts.append(
            f"{earlier:,} made under earlier laws, not recomputed but complete and in order"
        )
    if torn := each.log.torn_bytes():
        parts.append(f"skipped an incomplete last record of {count(torn, 'byte')}")
    return "; ".join([*parts, f"head {each.last['digest']}"])


def _of_form(form: _OtherForm) -> Iterator[str]:
    """What is proved of commits under another form of a schema, and what is not."""
    under = f"under an earlier form of {form.schema} (fingerprint {form.fingerprint})"
    if form.recomputed:
        yield f"{count(form.recomputed, 'commit')} {under} recomputed under its form of now, the same items"
    if rest := form.commits - form.recomputed:
        it = "it" if rest == 1 else "them"
        yield (
            f"{count(rest, 'commit')} {under} not recomputed, but complete and in order; give the file of that "
            f"time by a further --schema to recompute {it}"
        )


def _against_store(
    memory: Path, found: Sequence[LoggedThread], *, everything: bool
) -> list[Mismatch]:
    """Compare the logs with the embedded store; a store in use or on a server is not compared."""
    if not (memory / "chroma.sqlite3").is_file():
        return []
    try:
        with opened(memory, Policy(), server=None, repair=False) as controller:
            tenants = dict.fromkeys([UNNAMED, *(each.thread.tenant for each in found)])
            differ = [each for tenant in tenants for each in compare_logs(controller, tenant)]
    except StoreLockedError:
        print(
            "acc: another process uses the store: the logs are not compared with it",
            file=sys.stderr,
        )
        return []
    threads = [each.thread for each in found]
    return [each for each in differ if everything or each.thread in threads]


def _refuse(differ: Sequence[Mismatch], memory: Path) -> None:
    """Print each difference between logs and store; raise `AuditError` if an operator does not know one."""
    for each in differ:
        known = "; an operator has adopted a state since" if each.is_known else ""
        print(f"acc: thread {each.thread.thread}: {each.what}{known}", file=sys.stderr)
    if unknown := [each for each in differ if not each.is_known]:
        raise AuditError(
            f"the audit logs and the store differ: {unknown[0].what}",
            where=f"{memory}, thread {unknown[0].thread.thread!r}",
            hint=FIX_LOGS,
        )


def _all_threads(memory: Path) -> list[LoggedThread]:
    """All threads of the memory. A missing log and a log without a record are errors."""
    found = logged_threads(memory)
    if empty := _empty_logs(memory, found):  # another process may have written a first record since
        found = logged_threads(memory)
        empty &= _empty_logs(memory, found)
    if empty or not found:
        raise AuditError(
            "the audit log has no record" if empty else "no audit log",
            where=min(empty, default=str(options.audit_place(memory))),
            hint="restore the log from a backup, or name another memory with --memory",
        )
    return found


def _empty_logs(memory: Path, found: Sequence[LoggedThread]) -> set[str]:
    return {log.where for log in logs_of(memory)} - {each.log.where for each in found}


class _OtherForm(NamedTuple):
    """Commits under a form of a schema that is not given; those recomputed gave the same items."""

    schema: str
    fingerprint: str
    commits: int
    recomputed: int


class _Counts(NamedTuple):
    commits: int
    redacted: int
    earlier_laws: int
    other_forms: list[_OtherForm]


def _grouped(others: Sequence[UnderOtherForm]) -> list[_OtherForm]:
    groups: dict[tuple[str, str], list[bool]] = {}
    for each in others:
        groups.setdefault((each.schema, each.fingerprint), []).append(each.is_same)
    return [_OtherForm(*form, len(same), sum(same)) for form, same in groups.items()]


def _recompute(
    logged: LoggedThread,
    head: str,
    known: Policies,
    schemas: Sequence[Schema],
    max_tokens: int | None,
) -> _Counts:
    """Recompute a thread's commits; ``known`` keeps the policies of all threads so far."""
    redacted: list[int] = []
    earlier: list[int] = []
    others: list[UnderOtherForm] = []
    try:
        for policy in logged.policies():
            known.find({"policy": policy}, schemas, max_tokens)
        commits = verify_log(
            logged.log, known.exact, head=head, redacted=redacted, earlier=earlier,
            state_key=state_key(), stand_ins=known.stand_ins, under_other_forms=others,
        )  # fmt: skip
    except (KeyError, TypeError, AttributeError) as error:
        raise AuditError(
            f"a record was not written by acc: {type(error).__name__} {error}",
            where=logged.log.where,
            hint="restore the log from a backup",
        ) from error
    return _Counts(commits, len(redacted), len(earlier), _grouped(others))
