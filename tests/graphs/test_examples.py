"""Each example runs offline, and shows what it promises."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").exists())
EXAMPLES = ROOT / "examples"
SHOWS = {
    "01_update_state": ['LATER turn 2: "You can restart nginx now', "ending c1"],
    "02_controller": ["turn 6: ", "The incident is INC-7731"],
    "03_domain_schema": ["Northside hours 07:00-19:00", "windows needs user"],
    "04_react": ["agent: Not without your word, as you said."],
    "05_node_in_a_graph": ["agent: No: never on a Friday.", "messages in the last prompt: 4"],
    "06_middleware": ["agent: Not without your word, as you said.", "[REDACTED_EMAIL]"],
    "07_plan_execute_reflect": ["agent:  Upgrade pg-01, pg-02 to 5.2.12; Never deploy without"],
    "08_many_workers": [f"ward-{n}: version 5 of main: Not yet, by your own" for n in range(3)],
    "09_behind": ["agent: Not now: never during business hours.", "[messages that wait: "],
    "10_shared_board": ["Shared with all agents:", "u2, from fixer: You may restart"],
    "11_roles": ["- Kinesis why it scales", "- throttling at the end of a quarter"],
    "12_sub_agents": ["A customer left over prices. / A customer left over prices."],
    "13_handovers": ["agent: Booked for 14:10.", "Write a line on the chair. A fine piece.\n"],
    "14_recorded_model": ["current facts", "0.71  0.86"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SHOWS)
def test_an_example_runs_offline(name: str, tmp_path: Path) -> None:
    paths = [str(ROOT), *(str(ROOT / each) for each in ("graphs", "schemas", "evaluation"))]
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OPENAI", "ACC_"))}
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py")], cwd=tmp_path, capture_output=True,
        text=True, env={**env, "PYTHONPATH": os.pathsep.join(paths)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2_000:]
    for shown in SHOWS[name]:
        assert shown in done.stdout + "\n"


def test_every_example_is_named_here() -> None:
    assert {file.stem for file in EXAMPLES.glob("*.py")} == {*SHOWS}
    assert len(SHOWS) <= 14
