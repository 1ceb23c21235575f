"""The README and the docs: blocks and examples run, links lead somewhere, promises have their tests."""

from __future__ import annotations

import ast
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from acc.cli import app
from acc_eval.cli import app as evaluation

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)


def _blocks() -> list[tuple[str, str]]:
    return [
        (f"{page.name}:{number}", code)
        for page in PAGES
        for number, code in enumerate(_BLOCK.findall(page.read_text(encoding="utf-8")), 1)
    ]


def _ran(arguments: list[str], folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


BLOCKS = [pytest.param(code, id=name) for name, code in _blocks()]


@pytest.mark.slow
@pytest.mark.parametrize("code", BLOCKS)
def test_a_documented_block_runs(code: str, tmp_path: Path) -> None:
    assert _ran(["-c", code], tmp_path).strip()


@pytest.mark.slow
def test_the_start_shows_what_acc_show_prints(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "start.md").read_text("utf-8")
    first = next(code for name, code in _blocks() if name == "start.md:1")
    told = re.findall(r"^```text\n(.*?)\.\.\.$", page, re.M | re.S)
    printed = _ran(["-c", f"{first}\nfrom acc.cli import run\nrun(['show'])"], tmp_path)
    assert len(told) == 1
    assert told[0] in printed


_OFFLINE = """
import sys
asked = []
sys.addaudithook(lambda event, values: asked.append(event) if event in {
    "socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"} else None)
"""


FIRST = next(code for name, code in _blocks() if name == "README.md:1")


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the first block of the README prints, and what it asked of the network."""
    watched = f"{_OFFLINE}\n{FIRST}\nprint('asked:', asked)"
    return _ran(["-c", watched], tmp_path_factory.mktemp("readme"))


def test_the_readme_shows_the_rule_that_it_promises(shown: str) -> None:
    assert "Never restart nginx during business hours" in shown
    assert len(FIRST.strip().splitlines()) <= 12


def test_the_readmes_block_asks_no_network(shown: str) -> None:
    assert shown.rstrip().endswith("asked: []")


def test_the_readmes_figures_are_those_of_the_evaluation() -> None:
    """Its one table says no more than the page with the commands."""
    table = re.findall(r"^\|.*\|$", (ROOT / "README.md").read_text("utf-8"), re.M)
    figures = {figure for row in table for figure in re.findall(r"\d?,?\d*\.\d\d|\d,\d{3}", row)}
    told = (ROOT / "docs" / "evaluation.md").read_text("utf-8").partition("## Compare memories")[0]
    assert len(figures) > 8
    assert not sorted(figure for figure in figures if figure not in told)


MOST_WORDS = 20_400
SHORT = ("start.md", "langgraph.md", "moving-over.md", "approvals.md", "several-agents.md")
"""Pages of at most 900 words, which a newcomer reads first."""


@pytest.mark.parametrize("name", SHORT)
def test_what_a_newcomer_reads_is_short(name: str) -> None:
    assert len((ROOT / "docs" / name).read_text("utf-8").split()) <= 900


def test_all_pages_together_stay_readable() -> None:
    words = {page.name: len(page.read_text("utf-8").split()) for page in PAGES}
    assert sum(words.values()) <= MOST_WORDS, words


_COMMAND = re.compile(r"(?:^|`)acc ([a-z]+)\b([^`\n#|]*)", re.M)


def _options(command: str, rest: str) -> set[str]:
    """The options of a command, or of its part, such as ``acc eval probe``."""
    root: Any = get_command(evaluation if command == "eval" else app)
    name = (rest.split() or [""])[0] if command == "eval" else command
    found = root.get_command(None, name) if name else root
    assert found is not None, f"acc {command} {rest}"
    return {option for each in found.params for option in each.opts} | {"--help"}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_the_commands_that_a_page_shows_exist_with_their_options(page: Path) -> None:
    for command, rest in _COMMAND.findall(page.read_text("utf-8")):
        shown = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", rest))
        assert shown <= _options(command, rest), f"acc {command} {rest}"


def test_the_documents_name_the_versions_that_install() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["requires-python"] == ">=3.11,<3.14"
    for name in ("README.md", "Makefile"):
        assert "Python 3.11 to 3.13" in (ROOT / name).read_text("utf-8")


def _tests_in(path: Path) -> set[str]:
    """The tests of a file as pytest names them, parsed and not run."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    body = ast.parse(path.read_text("utf-8")).body
    found = {node.name for node in body if isinstance(node, functions)}
    for node in body:
        if isinstance(node, ast.ClassDef):
            found |= {
                f"{node.name}::{each.name}" for each in node.body if isinstance(each, functions)
            }
    return {name for name in found if name.rpartition("::")[2].startswith("test_")}


_NAMED = re.compile(r"`(?:tests/)?([\w/]+\.py)::([\w:]+)`")


def test_every_promise_names_tests_that_exist() -> None:
    _, _, promises = (ROOT / "docs" / "security.md").read_text("utf-8").partition("## Promises and")
    rows = re.findall(r"^\| (?!promise |---)(.+?) \| (.+?) \|$", promises, re.M)
    assert len(rows) > 40
    assert not [promise for promise, tests in rows if not _NAMED.search(tests)]


def test_every_test_that_the_documents_name_exists() -> None:
    named = {pair for page in PAGES for pair in _NAMED.findall(page.read_text("utf-8"))}
    files = {file: _tests_in(ROOT / "tests" / file) for file in {file for file, _ in named}}
    assert not sorted(f"{file}::{test}" for file, test in named if test not in files[file])


def test_each_law_names_what_enforces_it_and_tests_that_exist() -> None:
    table = (ROOT / "docs" / "laws.md").read_text("utf-8")
    laws = re.findall(r"^\| (\d+) [^|]+\|[^|]+\| ([^|]+) \| ([^|]+) \|$", table, re.M)
    assert [int(number) for number, _, _ in laws] == list(range(1, 11))
    assert all("`acc." in code and _NAMED.search(tests) for _, code, tests in laws)


NOT_CODE = {"acc.memories", "acc.schemas", "acc.commands", "acc.gate", "acc.commit"}
"""Names of a file in a memory's folder, groups of entry points, and spans."""


def _telemetry() -> set[str]:
    """The names of attributes and metrics, as they stand in the code."""
    spans = (ROOT / "acc/telemetry.py").read_text("utf-8")
    log = (ROOT / "acc/controller/watching.py").read_text("utf-8")
    facts = {f"acc.{name}" for name in re.findall(r'^        "([\w.]+)":', log, re.M)}
    return facts | set(re.findall(r'"(acc\.[\w.]+)"', spans))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_the_code_and_files_that_a_page_names_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    for name in set(re.findall(r"`(acc(?:\.\w+)+)", text)) - NOT_CODE - _telemetry():
        pkgutil.resolve_name(name)
    for path in re.findall(r"`((?:acc|benchmarks|docs|examples|tests)/[\w/.]+)`", text):
        assert (ROOT / path).exists(), path


def _anchors(page: Path) -> set[str]:
    """The headings of a page, as they are linked to."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.M | re.S)
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target, _, anchor in (
        link.partition("#")
        for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", page.read_text("utf-8"))
    ):
        file = page.parent / target if target else page
        assert file.exists(), target
        assert not anchor or anchor in _anchors(file), f"{target}#{anchor}"


def test_the_documents_name_no_path_or_host_of_a_machine() -> None:
    for page in [ROOT / "CHANGELOG.md", *PAGES]:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"/(?:home|root|work|tmp)/|https?://(?:pypi|[\w.]*mirror)", text), (
            page.name
        )
