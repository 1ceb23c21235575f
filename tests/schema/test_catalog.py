"""Finding a schema by its published name, its class, or its file."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from acc import schema as catalog
from acc.errors import ConfigurationError, SchemaError
from acc.schema import schema_named
from acc_schemas.finance import FinanceState


def entry(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, catalog.GROUP)


def test_a_third_partys_schema_is_found_by_its_name(published: list[EntryPoint]) -> None:
    published[:] = [entry("money", "acc_schemas.finance:FinanceState")]
    assert schema_named("money") is FinanceState


def test_one_name_for_two_schemas_is_an_error(published: list[EntryPoint]) -> None:
    published[:] = [entry("money", "a:B"), entry("money", "other:State")]
    with pytest.raises(ConfigurationError, match=r"two schemas .* other:State"):
        schema_named("money")


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("nothing", "no schema is published as 'nothing'"),
        ("no_such_module:State", "cannot be imported"),
        ("acc_schemas.finance:NoState", "cannot be imported"),
        ("acc_schemas.finance:Figure", "not a state class"),
        ("no_such_file.py", "no such file"),
        ("typing.py", "another module named 'typing' is loaded"),
    ],
)
def test_what_is_no_schema_says_so(name: str, what: str) -> None:
    with pytest.raises(ConfigurationError, match=what) as error:
        schema_named(name)
    assert error.value.hint


BASE = "from acc.state.model import CompressedCognitiveState as S\n"


def test_a_file_is_a_schema(tmp_path: Path) -> None:
    file = tmp_path / "catalog_clinic.py"
    file.write_text(f"{BASE}class CatalogClinicState(S): pass", encoding="utf-8")
    schema = schema_named(str(file))
    assert schema.__name__ == "CatalogClinicState"
    assert schema_named(str(file)) is schema
    assert schema_named(f"{file}:CatalogClinicState") is schema
    with pytest.raises(ConfigurationError, match="cannot be imported"):
        schema_named(f"{file}:Other")


@pytest.mark.parametrize(
    ("code", "error", "what"),
    [
        ("x = 1", ConfigurationError, "no state classes"),
        ("def", ConfigurationError, "SyntaxError"),
        ("raise SystemExit(3)", ConfigurationError, "SystemExit: 3"),
        (f"{BASE}class A(S): pass\nclass B(S): pass", ConfigurationError, "2 state classes"),
        (
            f"{BASE}from typing import Annotated\nfrom acc.state.items import Fact\n"
            "from acc.state.slots import Slot\n"
            "class A(S):\n    notes: Annotated[tuple[Fact, ...], Slot('notes', 'u', 'Notes', 3)] = ()",
            SchemaError,
            "prefix 'u'",
        ),
    ],
)
def test_a_file_that_is_no_schema_says_why(
    tmp_path: Path, code: str, error: type[Exception], what: str
) -> None:
    file = tmp_path / "catalog_wrong.py"
    file.write_text(code, encoding="utf-8")
    try:
        with pytest.raises(error, match=what):
            schema_named(str(file))
    finally:
        sys.modules.pop("catalog_wrong", None)
