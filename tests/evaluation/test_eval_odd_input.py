"""Ground truth and LoCoMo files that are not what they should be are refused, in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from acc.errors import InputError
from acc_eval.locomo import load_locomo
from acc_eval.scenarios import read_scenario


@pytest.mark.parametrize("turns", ["5", "[3]", '"ab"', "null"])
def test_a_truth_whose_turns_are_none_is_refused(turns: str, tmp_path: Path) -> None:
    talk, truth = tmp_path / "talk.json", tmp_path / "truth.json"
    talk.write_text('[{"role": "user", "content": "Hello."}]')
    truth.write_text(f'{{"facts": [], "turns": {turns}}}')
    with pytest.raises(InputError, match="turns"):
        read_scenario(f"{talk}:{truth}")


def test_a_name_that_no_file_can_have_is_refused() -> None:
    with pytest.raises(InputError):
        read_scenario("a" * 5_000)
    with pytest.raises(InputError):
        read_scenario(f"{'a' * 5_000}:{'b' * 5_000}")


def test_a_turn_of_locomo_without_a_place_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "locomo.json"
    said = '{"speaker": "A", "dia_id": "5", "text": "Hi."}'
    file.write_text(f'[{{"conversation": {{"session_1": [{said}]}}, "qa": []}}]')
    with pytest.raises(InputError, match="LoCoMo"):
        load_locomo(file)
