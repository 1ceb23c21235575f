"""What the paper measured (arXiv 2505.16067, Tables 1 and 2): performance in percent, memory size."""

from __future__ import annotations

AGENTS = {"ehragent": "EHRAgent", "agentdriver": "AgentDriver", "cic-iot": "CIC-IoT"}

ADDITION: dict[tuple[str, str], tuple[float, int]] = {
    ("ehragent", "fixed"): (16.89, 100),
    ("ehragent", "all"): (13.04, 2411),
    ("ehragent", "coarse"): (31.35, 1881),
    ("ehragent", "strict"): (38.86, 1012),
    ("agentdriver", "fixed"): (40.53, 180),
    ("agentdriver", "all"): (32.48, 2125),
    ("agentdriver", "coarse"): (37.03, 1161),
    ("agentdriver", "strict"): (50.94, 1178),
    ("cic-iot", "fixed"): (60.25, 100),
    ("cic-iot", "all"): (60.00, 1300),
    ("cic-iot", "coarse"): (60.67, 1083),
    ("cic-iot", "strict"): (63.33, 860),
}

DELETION: dict[tuple[str, str, str], tuple[float, int]] = {
    ("ehragent", "coarse", "none"): (31.35, 1881),
    ("ehragent", "coarse", "period"): (30.30, 379),
    ("ehragent", "coarse", "history"): (32.04, 1818),
    ("ehragent", "coarse", "combined"): (29.52, 377),
    ("ehragent", "strict", "none"): (38.89, 1012),
    ("ehragent", "strict", "period"): (39.04, 302),
    ("ehragent", "strict", "history"): (42.65, 784),
    ("ehragent", "strict", "combined"): (42.88, 248),
    ("agentdriver", "coarse", "none"): (37.04, 1161),
    ("agentdriver", "coarse", "period"): (36.39, 426),
    ("agentdriver", "coarse", "history"): (34.02, 1019),
    ("agentdriver", "coarse", "combined"): (35.63, 372),
    ("agentdriver", "strict", "none"): (50.94, 1178),
    ("agentdriver", "strict", "period"): (50.94, 467),
    ("agentdriver", "strict", "history"): (51.81, 846),
    ("agentdriver", "strict", "combined"): (49.81, 323),
    ("cic-iot", "coarse", "none"): (60.67, 1083),
    ("cic-iot", "coarse", "period"): (59.58, 163),
    ("cic-iot", "coarse", "history"): (53.08, 1115),
    ("cic-iot", "coarse", "combined"): (53.83, 160),
    ("cic-iot", "strict", "none"): (63.33, 860),
    ("cic-iot", "strict", "period"): (61.83, 148),
    ("cic-iot", "strict", "history"): (67.67, 755),
    ("cic-iot", "strict", "combined"): (63.50, 82),
}
