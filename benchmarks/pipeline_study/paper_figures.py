"""What the paper prints in its Table 2: ten runs of each system, Llama-3.2-3b, a judge that it does not name."""

from __future__ import annotations

from typing import NamedTuple


class Printed(NamedTuple):
    """A row: the means of the baseline and of the paper's memory, and p."""

    baseline: float
    intrinsic: float
    p: float


TABLE_2 = {
    "tokens": Printed(36_077, 47_830, 0.0195),
    "turns": Printed(14.3, 16, 0.2632),
    "scalability": Printed(5, 7, 0.0041),
    "reliability": Printed(3.56, 4.89, 0.005),
    "usability": Printed(3, 3.67, 0.0948),
    "cost_effectiveness": Printed(3.22, 4.67, 0.004),
    "documentation": Printed(2, 3.56, 0.0017),
}
