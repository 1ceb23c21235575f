"""Packets by their features, in classes that overlap as kinds of attack do.

Classes come in groups (floods, scans, floods from many sources ...): those of one group share
their flags and differ in some of their rates, so that only an example close by tells them apart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

GROUPS: dict[str, tuple[str, ...]] = {
    "DDoS": ("UDP_Flood", "ICMP_Flood", "TCP_Flood", "SYN_Flood", "HTTP_Flood", "SlowLoris"),
    "DoS": ("UDP_Flood", "TCP_Flood", "SYN_Flood", "HTTP_Flood"),
    "Recon": ("PortScan", "OSScan", "HostDiscovery", "PingSweep", "VulnerabilityScan"),
    "Mirai": ("greeth_flood", "greip_flood", "udpplain"),
    "Spoofing": ("DNS", "MITM_Arp"),
    "Web": ("SqlInjection", "XSS", "CommandInjection", "Uploading", "BrowserHijacking"),
    "Other": ("BruteForce", "Backdoor", "Benign"),
}
CLASSES: tuple[str, ...] = tuple(f"{group}-{kind}" for group, ks in GROUPS.items() for kind in ks)

MEASURES = (
    "flow_duration", "header_length", "rate", "srate", "ack_count", "syn_count", "rst_count",
    "total_sum", "average", "std", "inter_arrival", "magnitude",
)  # fmt: skip
FLAGS = ("SYN", "ACK", "RST", "PSH", "TCP", "UDP", "ICMP", "HTTP", "DNS", "ARP")


class Classes(NamedTuple):
    """How the classes lie: logarithms of measures, and chances of flags, a row each."""

    centres: NDArray[np.float64]
    flags: NDArray[np.float64]


def classes(rng: np.random.Generator, apart: float) -> Classes:
    """Groups far apart, the classes of a group ``apart`` in each measure."""
    centres, flags = [], []
    for kinds in GROUPS.values():
        middle = rng.uniform(3.0, 5.0, len(MEASURES))
        shared = rng.random(len(FLAGS)) < 0.35
        for _ in kinds:
            centres.append(middle + apart * rng.standard_normal(len(MEASURES)))
            own = shared ^ (rng.random(len(FLAGS)) < 0.08)
            flags.append(np.where(own, 0.85, 0.08))
    return Classes(np.array(centres), np.array(flags))


def packet(known: Classes, label: int, spread: float, rng: np.random.Generator) -> str:
    """The text of a packet of the class number ``label``."""
    measures = np.exp(known.centres[label] + spread * rng.standard_normal(len(MEASURES)))
    flags = rng.random(len(FLAGS)) < known.flags[label]
    shown = [f"{name}: {value:.3f}" for name, value in zip(MEASURES, measures, strict=True)]
    raised = [f"{name} flag: {int(flag)}" for name, flag in zip(FLAGS, flags, strict=True)]
    return "\n".join([*shown, *raised])


def features(text: str) -> NDArray[np.float32]:
    """A packet's text as numbers: measures, then flags."""
    return np.array([line.rpartition(" ")[2] for line in text.splitlines()], dtype=np.float32)


def nearness(vector: NDArray[np.float32], rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """1 minus the mean relative change of the features, as the paper's appendix A.2 has it."""
    count = len(MEASURES)
    ours, theirs = vector[:count], rows[:, :count]
    change = np.abs(theirs - ours) / np.maximum(np.maximum(np.abs(theirs), np.abs(ours)), 1e-6)
    differ = rows[:, count:] != vector[count:]
    total = change.sum(axis=1) + differ.sum(axis=1)
    return np.asarray(1.0 - total / rows.shape[1], dtype=np.float32)
