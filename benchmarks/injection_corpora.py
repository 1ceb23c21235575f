"""Readers of public injection corpora, as their authors publish them. Nothing of a corpus is imported or run."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

MODEL, PERSON = "AI assistant", "Emma Johnson"
EXPLAIN = "Explain this error and how to fix it."
"""What is asked about the code of BIPIA, which has no question of its own."""


UNKNOWN = "X-1"
"""Stands where a text takes in what only running its code would tell."""


class Case(NamedTuple):
    """An injection, and where it comes from.

    Attributes:
        words: The injected instruction.
        carrier: The text that it stands in: a tool's result, a mail, a table, an attack's wording.
        asked: What the user asks in their own words.
    """

    words: str
    carrier: str
    asked: str


def injecagent(folder: Path) -> Iterator[Case]:
    """InjecAgent: each object of ``test_cases_*.json``, in the folder, its ``data`` or below."""
    for path in sorted(folder.rglob("test_cases_*.json")):
        for case in json.loads(path.read_text(encoding="utf-8")):
            yield Case(
                case["Attacker Instruction"], case["Tool Response"], case["User Instruction"]
            )


def bipia(folder: Path) -> Iterator[Case]:
    """BIPIA: text attacks in its mails and tables, code attacks in its code; at each of three places.

    Its news and web pages are not published with it, so they are left out.
    """
    bench = next((p.parent for p in sorted(folder.rglob("text_attack_test.json"))), folder)
    for kind, tasks in (("text", ("email", "table")), ("code", ("code",))):
        attacks = [
            attack
            for path in sorted(bench.glob(f"{kind}_attack_*.json"))
            for group in json.loads(path.read_text(encoding="utf-8")).values()
            for attack in group
        ]
        for task in tasks:
            lines = [
                json.loads(line)
                for path in sorted((bench / task).glob("*.jsonl"))
                for line in path.read_text(encoding="utf-8").splitlines()
            ]
            for number, (attack, place) in enumerate(product(attacks, range(3) if lines else ())):
                yield _placed(attack, lines[number % len(lines)], place)


def _placed(attack: str, task: dict[str, Any], place: int) -> Case:
    context = task["context"]
    context = "\n".join(context) if isinstance(context, list) else context
    middle = context.find("\n", len(context) // 2) + 1 or len(context)
    at = (0, middle, len(context))[place]
    parts = (context[:at].strip("\n"), attack, context[at:].strip("\n"))
    asked = task.get("question", EXPLAIN).removeprefix("Q: ")
    return Case(attack, "\n".join(part for part in parts if part), asked)


def agentdojo(folder: Path) -> Iterator[Case]:
    """AgentDojo: each goal of a suite with each request of its users, in the attacks' wordings by turns."""
    wordings = sorted({w for p in folder.rglob("attacks/*.py") for w in _wordings(p)})
    wordings = wordings or ["{goal}"]
    suites = {p.parent.name for p in folder.rglob("injection_tasks.py")}
    number = 0
    for suite in sorted(suites):
        goals = _constants(folder, f"{suite}/injection_tasks.py", "GOAL")
        prompts = _constants(folder, f"{suite}/user_tasks.py", "PROMPT")
        for goal, prompt in product(goals, prompts):
            filled = {"goal": goal, "user": PERSON, "model": MODEL, "task": prompt, "tools": ""}
            carrier = wordings[number % len(wordings)]
            for name, value in filled.items():
                carrier = carrier.replace(f"{{{name}}}", value)
            number += 1
            yield Case(goal, carrier.strip(), prompt)


def _wordings(path: Path) -> Iterator[str]:
    """Texts of an attack that hold its goal; not what describes the attack."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in told and "{goal}" in str(node.value):
            yield str(node.value)


def _constants(folder: Path, where: str, name: str) -> list[str]:
    """The texts that classes of the files ``where`` give ``name``, in all versions, each once."""
    found: dict[str, None] = {}
    for path in sorted(folder.rglob(where)):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        outer = _texts(tree.body, {})
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and (text := _texts(node.body, outer).get(name)):
                found[" ".join(text.split())] = None
    return list(found)


def _texts(body: list[ast.stmt], known: dict[str, str]) -> dict[str, str]:
    """Texts that are assigned to names in ``body``, with those that they are made of put in."""
    texts = dict(known)
    for node in body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        value = getattr(node, "value", None)
        if isinstance(target, ast.Name) and (text := _text(value, texts)) is not None:
            texts[target.id] = text
    return texts


def _text(node: Any, known: dict[str, str]) -> str | None:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        parts = (getattr(part, "value", None) for part in node.values)
        texts = [part if isinstance(part, str) else _text(part, known) for part in parts]
        return "".join(text if text is not None else UNKNOWN for text in texts)
    return known.get(node.id) if isinstance(node, ast.Name) else None


READERS: dict[str, Callable[[Path], Iterator[Case]]] = {
    "injecagent": injecagent,
    "agentdojo": agentdojo,
    "bipia": bipia,
}
