"""Planning a remediation with noisy web search (the paper's example of plan, execute, reflect)."""

from acc_graphs.remediation.deciding import ROLE, STEPS, decide
from acc_graphs.remediation.sources import CHANNELS, TOOLS
from acc_graphs.remediation.validated import SETTINGS, ValidatedState

__all__ = ["CHANNELS", "ROLE", "SETTINGS", "STEPS", "TOOLS", "ValidatedState", "decide"]
