"""The package of evaluations and the benchmarks are importable without an installation."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").exists())
sys.path[:0] = [str(ROOT / "evaluation"), str(ROOT)]
