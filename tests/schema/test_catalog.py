"""Finding a schema by its published name, its class, or its file; creating one."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from acc import schema as catalog
from acc.errors import ConfigurationError, InputError, SchemaError
from acc.schema import published_name, schema_named
from acc.schema.pages import start
from acc_schemas.finance import FinanceState


def entry(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, catalog.GROUP)


def test_a_third_partys_schema_is_found_by_its_name(published: list[EntryPoint]) -> None:
    published[:] = [entry("money", "acc_schemas.finance:FinanceState")]
    assert schema_named("money") is FinanceState
    assert published_name(FinanceState) == "money"
    published.clear()
    assert published_name(FinanceState) == "acc_schemas.finance:FinanceState"


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


def test_a_file_is_a_schema(tmp_path: Path) -> None:
    file = start("catalog_clinic", tmp_path)
    schema = schema_named(str(file))
    assert schema.__name__ == "CatalogClinicState"
    assert schema_named(str(file)) is schema
    assert schema_named(f"{file}:CatalogClinicState") is schema
    with pytest.raises(ConfigurationError, match="cannot be imported"):
        schema_named(f"{file}:Other")


BASE = "from acc.state.model import CompressedCognitiveState as S\n"


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


def test_the_example_is_a_schema(tmp_path: Path) -> None:
    assert schema_named(str(start("field_service", tmp_path))).__name__ == "FieldServiceState"


@pytest.mark.parametrize("name", ["Clinic", "a-b", "class", "json", "acc"])
def test_a_name_that_no_module_may_have_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=name):
        start(name, tmp_path)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    start("catalog_twice", tmp_path)
    with pytest.raises(InputError, match="exists already"):
        start("catalog_twice", tmp_path)
