"""MkDocs' hooks: pages that are made from other files, links between them, and proof that no page loads from elsewhere.

README.md, CONTRIBUTING.md, CHANGELOG.md, the examples and the docstrings each stay the only copy of their text.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

import griffe
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/data/DATASHEET.md": "datasheet.md",
}
API = {
    "acc": "acc",
    "acc.turn.turn": "Turns",
    "acc.turn.observations": "Observations, channels, trust",
    "acc.state.model": "The state",
    "acc.state.slots": "Slots",
    "acc.state.items": "Items",
    "acc.state.policy": "Policy, cadence, gate",
    "acc.state.reasons": "Reasons",
    "acc.step.result": "Steps",
    "acc.models": "Models",
    "acc.compress.compressor": "Compressor",
    "acc.compress.judge": "Judge",
    "acc.state.reading": "Compressors of your own",
    "acc.gate": "Verdicts",
    "acc.journal": "Journal",
    "acc.artifacts.chroma": "Chroma",
    "acc.artifacts.embedding": "Embedders",
    "acc.evidence.evidence": "Evidence",
    "acc.evidence.policies": "Retention policies",
    "acc.board.board": "Boards",
    "acc.board.listening": "What a listener of a board says",
    "acc.board.memory": "Memory with a board",
    "acc.board.roles": "Role memories",
    "acc.integrations.langgraph": "LangGraph",
    "acc.integrations.langchain": "LangChain",
    "acc.integrations.speaking": "Settings of node and middleware",
    "acc.integrations.identity": "Identity",
    "acc.integrations.messages": "Messages and guards",
    "acc.integrations.evidence_tool": "Evidence tool",
    "acc.integrations.recording": "Recording",
    "acc.mcp_server": "MCP server",
    "acc.telemetry": "OpenTelemetry",
    "acc.testing": "Testing",
    "acc.controller.queues": "Queues",
    "acc.errors": "Errors",
}
"""The public modules, in the order of the navigation."""
FIRST = (
    "MemoryController",
    "AsyncMemoryController",
    "update_state",
    "aupdate_state",
    "seed",
    "Step",
    "Settings",
)
"""What most readers look for: these stand first on the page of `acc`."""

_LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)#\s]+)")
_ELSEWHERE = re.compile(
    r"""<(?:script|img|iframe|source|link)\b[^>]*\b(?:src|href)=["']?(?:https?:)?//[^>]*>"""
)


def on_config(config: Any) -> None:
    """Add the pages that are made here to the navigation."""
    examples = [f"examples/{path.stem}.md" for path in _examples()]
    config.nav += [
        {"API": [{title: f"api/{module}.md"} for module, title in API.items()]},
        {"Examples": examples},
    ]


def on_files(files: Files, config: Any) -> Files:
    """Make the pages whose text stands elsewhere."""
    made = {
        page: _linked((ROOT / name).read_text("utf-8"), name, page) for name, page in PAGES.items()
    }
    made |= {f"examples/{path.stem}.md": _example(path) for path in _examples()}
    package = griffe.load("acc", search_paths=[ROOT], allow_inspection=False)
    public = {
        module: _public(package[module.partition(".")[2]] if "." in module else package)
        for module in API
    }
    made |= {f"api/{module}.md": _reference(module, public) for module in API}
    for page, text in made.items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead links of the pages in docs/ to the pages of this site."""
    made = page.file.src_uri in PAGES.values() or "/" in page.file.src_uri
    return markdown if made else _linked(markdown, f"docs/{page.file.src_uri}", page.file.src_uri)


def on_page_content(html: str, **_: Any) -> str:
    """Let long names in tables break where a reader would break them."""
    cells = re.compile(r"(?<=<code>)[^<]{16,}(?=</code>)")
    return re.sub(
        r"<td.*?</td>",
        lambda td: cells.sub(lambda code: re.sub(r"[/.:_]+(?=\w)", r"\g<0><wbr>", code[0]), td[0]),
        html,
        flags=re.S,
    )


def on_post_page(output: str, page: Any, **_: Any) -> None:
    """Refuse a page that loads anything from another host."""
    if found := _ELSEWHERE.search(output):
        raise PluginError(f"{page.file.src_uri} loads from another host: {found[0]}")


def _examples() -> list[Path]:
    return sorted((ROOT / "examples").glob("[0-9]*.py"))


def _linked(text: str, source: str, page: str) -> str:
    """A file of the repository as a page of the site: its relative links lead to pages."""

    def target(found: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), found[0]))
        to = PAGES.get(path, re.sub(r"^docs/", "", re.sub(r"^(examples/.+)\.py$", r"\1.md", path)))
        return posixpath.relpath(to, posixpath.dirname(page) or ".")

    return _LINK.sub(target, text)


def _example(path: Path) -> str:
    """An example: what it shows, and its code."""
    code = path.read_text("utf-8")
    title = path.stem[3:].replace("_", " ").capitalize()
    return f"# {title}\n\n`python examples/{path.name}`\n\n```python\n{code}```\n"


def _public(module: griffe.Object | griffe.Alias) -> dict[str, str]:
    """The public names of a module, each with the path of its definition.

    A package that loads its names when they are used lists them as imports for type checkers.
    """
    names = {}
    for name, member in module.members.items():
        if isinstance(member, griffe.Alias):
            ours = member.target_path.startswith("acc.") and (
                module.exports or module.is_init_module
            )
            if ours and not name.startswith("_"):
                names[name] = member.final_target.path
        elif not (name.startswith("_") or member.is_module):
            names[name] = member.path
    return {n: path for n, path in names.items() if not module.exports or n in module.exports}


def _reference(module: str, public: dict[str, dict[str, str]]) -> str:
    """The page of a module: its docstring and its public names. What another page documents is linked to."""
    others = {
        path: f"{other}.{name}"
        for other, names in public.items()
        if other != "acc"
        for name, path in names.items()
    }
    links, here = [], []
    for name, path in public[module].items():
        if module == "acc" and path in others:
            links.append(f"- [`{name}`][{others[path]}]")
        else:
            here.append(name)
    here.sort(key=lambda name: FIRST.index(name) if name in FIRST else len(FIRST))
    lines = [f"# {API[module]}", f"::: {module}\n    options:\n      members: {here}"]
    if links:
        lines += ["## Documented elsewhere", "\n".join(links)]
    return "\n\n".join(lines)
