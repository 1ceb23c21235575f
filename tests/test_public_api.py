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
PACKAGES = ("acc", "schemas/acc_schemas", "graphs/acc_graphs")

VENDORS = (
    "chromadb",
    "openai",
    "langgraph",
    "langchain_core",
    "pydantic",
    "numpy",
    "rich",
    "typer",
)


def test_the_public_names_are_this_list() -> None:
    assert sorted(acc.__all__) == sorted(
        [
            "AccError", "AsyncMemoryController", "AsyncRoleMemory", "Channel", "ChromaArtifactStore",
            "CompressedCognitiveState", "InMemoryStore", "Item", "LangChainCompressor",
            "MemoryController", "MemoryMiddleware", "MemoryNode", "Observation", "OpenAICompressor",
            "PinnedOverflow", "Policy", "Proposal", "Role", "RoleMemory", "RuleCompressor", "Settings", "Slot", "Step",
            "Thread", "Trust", "Turn", "__version__", "aupdate_state", "construct_context", "update_state",
        ]
    )  # fmt: skip


@pytest.mark.parametrize("name", acc.__all__)
def test_every_public_name_loads_and_says_what_it_is(name: str) -> None:
    value = getattr(acc, name)
    assert name == "__version__" or value.__doc__


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


def test_importing_the_library_loads_no_vendor() -> None:
    code = f"import sys, acc; print([v for v in {VENDORS!r} if v in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


PIPELINE = (
    "turn.turn", "turn.transcript", "state.model", "state.proposal", "stores.protocol", "recall.candidates",
    "gate.protocol", "gate.built_in", "compress.protocol", "commit.commit", "thread.log",
)  # fmt: skip


def test_the_pipeline_imports_no_vendor_but_pydantic_and_numpy() -> None:
    code = (
        f"import sys, importlib; [importlib.import_module('acc.' + m) for m in {PIPELINE!r}];"
        "print([v for v in ('chromadb', 'openai', 'langgraph', 'toon_format', 'rich') if v in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_imports_run_one_way() -> None:
    package = Path(acc.__file__).parent
    for file in package.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"^\s*(?:from|import) acc_(?:graphs|schemas)", text, re.M), file


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
