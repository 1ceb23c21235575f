"""The public surface: one list, loaded when used, no vendor on import."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import acc

ROOT = Path(__file__).parent.parent
PACKAGES = ("acc", "schemas/acc_schemas", "graphs/acc_graphs", "evaluation/acc_eval")

MOST_NAMES = 24

VENDORS = (
    "chromadb", "openai", "langgraph", "langchain_core", "pydantic", "numpy", "sqlalchemy", "rich", "typer",
)  # fmt: skip


def test_the_public_names_are_this_list() -> None:
    assert sorted(acc.__all__) == sorted(
        [
            "AccError", "AsyncMemoryController", "Board", "Cadence", "Channel", "ChromaStore",
            "CompressedCognitiveState", "Evidence", "Item", "MemoryController", "MemoryMiddleware", "MemoryNode",
            "Observation", "PinnedOverflow", "Policy", "Settings", "Slot", "Step", "ThreadKey", "Turn",
            "__version__", "aupdate_state", "seed", "update_state",
        ]
    )  # fmt: skip
    assert len(acc.__all__) - len(["__version__"]) <= MOST_NAMES


@pytest.mark.parametrize("name", acc.__all__)
def test_every_public_name_loads_and_says_what_it_is(name: str) -> None:
    value = getattr(acc, name)
    assert name == "__version__" or value.__doc__


def test_type_checkers_see_the_same_names() -> None:
    """What is loaded lazily is imported under TYPE_CHECKING from the same module."""
    tree = ast.parse(Path(acc.__file__).read_text("utf-8"))
    imported = {
        alias.asname: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }
    assert imported == acc._HOME


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = acc.nothing_of_the_kind


@pytest.mark.slow
def test_every_name_is_imported_where_langchain_is_not_installed() -> None:
    code = (
        "import sys; sys.modules['langchain'] = None\n"
        "from acc import *\n"
        "print(MemoryController.__name__, 'MemoryMiddleware' in globals())\n"
        "import acc; acc.MemoryMiddleware"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["MemoryController", "False"]
    assert "pip install 'agent-cognitive-compressor[langchain]'" in done.stderr


def _loaded(modules: str, vendors: tuple[str, ...]) -> str:
    code = f"import sys, importlib\nfor m in {modules.split()!r}: importlib.import_module(m)\n"
    code += f"print([v for v in {vendors!r} if v in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_importing_the_library_loads_no_vendor() -> None:
    assert _loaded("acc", VENDORS) == "[]"


CORE = """
    acc.turn.turn acc.turn.transcript acc.state.model acc.state.proposal acc.state.render acc.gate
    acc.compress.compressor acc.compress.judge acc.compress.keyless acc.commit.commit acc.step.result
    acc.step.step acc.step.update
"""


def test_the_core_imports_no_store_no_framework_and_no_sdk() -> None:
    """`update_state` needs none of them."""
    vendors = (
        "chromadb",
        "openai",
        "langgraph",
        "langchain_core",
        "sqlalchemy",
        "httpx",
        "rich",
        "typer",
    )
    assert _loaded(CORE, vendors) == "[]"


def test_imports_run_one_way() -> None:
    package = Path(acc.__file__).parent
    for file in package.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"^\s*(?:from|import) acc_(?:graphs|schemas|eval)", text, re.M), file


def _imported(file: Path) -> Iterator[str]:
    """The top-level packages that a file imports anywhere, in functions too."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


@pytest.mark.slow
def test_what_is_imported_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    declared = {Requirement(line).name.lower() for line in lines}
    files = [file for package in PACKAGES for file in (ROOT / package).rglob("*.py")]
    names = {name for file in files for name in _imported(file)}
    vendors = names - set(sys.stdlib_module_names) - {Path(package).name for package in PACKAGES}
    wanted = {
        {"Stemmer": "pystemmer", "opentelemetry": "opentelemetry-api"}.get(
            name, name.replace("_", "-")
        )
        for name in vendors
    }
    assert len(wanted) > 20
    assert not wanted - declared


def test_each_package_tells_type_checkers_that_it_is_typed() -> None:
    assert all((ROOT / package / "py.typed").is_file() for package in PACKAGES)
    built = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]
    assert tuple(built["targets"]["wheel"]["packages"]) == PACKAGES
