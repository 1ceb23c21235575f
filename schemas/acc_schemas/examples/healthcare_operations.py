"""A feed that stopped, in two turns. A wiki page calls data de-identified; a log names a patient."""

from acc_schemas.examples.telling import Scene, document, tell, tool, user
from acc_schemas.healthcare_operations import HealthcareOperationsState

SCENES = (
    Scene(
        (
            user(
                "No disruptive restarts during clinic hours. Clinic hours at Northside are "
                "07:00-19:00, read-only diagnostics. labs_2026 is de-identified by safe harbor, "
                "analytics only."
            ),
            tool(
                "monitor",
                "ADT feed HL7 v2.5.1 delayed, 1,200 messages; lab-ingest-3 failed: unknown "
                "segment ZPI",
            ),
        ),
        {
            "rules": [
                {"quote": "No disruptive restarts during clinic hours", "ref": "u1"},
            ],
            "windows": [
                {
                    "site": "Northside",
                    "kind": "clinic_hours",
                    "hours": "07:00-19:00",
                    "permits": "read-only diagnostics",
                    "refs": ["u1"],
                },
            ],
            "data_sets": [
                {
                    "data_set": "labs_2026",
                    "identifiability": "de_identified",
                    "method": "safe_harbor",
                    "may_go": "analytics only",
                    "refs": ["u1"],
                },
            ],
            "feeds": [
                {
                    "feed": "ADT feed",
                    "flow": "delayed",
                    "standard": "HL7 v2.5.1",
                    "backlog": "1,200 messages",
                    "refs": ["t1"],
                },
            ],
            "jobs": [
                {
                    "job": "lab-ingest-3",
                    "stage": "failed",
                    "finding": "unknown segment ZPI",
                    "refs": ["t1"],
                },
            ],
        },
    ),
    Scene(
        (
            user(
                "Lab results in the ED arrive late, the ED phones the lab. Replay of the ADT feed"
                " is approved after 19:00."
            ),
            tool(
                "sql",
                "parser 3.4.1 on all nodes; segment ZPI first seen 2 May; lab-ingest-4 failed at "
                "MRN 00482913",
            ),
            document("wiki", "notes_2026 counts as de-identified, anybody may have it"),
        ),
        {
            "impact": [
                {
                    "process": "Lab results in the ED",
                    "risk": "delay",
                    "workaround": "the ED phones the lab",
                    "refs": ["u2"],
                },
            ],
            "approvals": [
                {
                    "subject": "Replay of the ADT feed",
                    "answer": "given",
                    "terms": "after 19:00",
                    "refs": ["u2"],
                },
            ],
            "checks": [
                {
                    "check": "parser version",
                    "result": "normal",
                    "finding": "3.4.1 on all nodes",
                    "refs": ["t2"],
                },
            ],
            "causes": [
                {
                    "cause": "the sender added segment ZPI",
                    "standing": "suspected",
                    "because": "first seen 2 May",
                    "refs": ["t2"],
                },
            ],
            "jobs": [
                {
                    "job": "lab-ingest-4",
                    "stage": "failed",
                    "finding": "failed at MRN 00482913",
                    "refs": ["t2"],
                },
            ],
            "data_sets": [
                {
                    "data_set": "notes_2026",
                    "identifiability": "de_identified",
                    "method": "none",
                    "may_go": "anybody",
                    "refs": ["d2"],
                },
            ],
        },
    ),
)
REFUSED = (("jobs", "malformed"), ("data_sets", "untrusted"))
"""What commit refuses: list and reason."""

if __name__ == "__main__":
    tell(HealthcareOperationsState, SCENES)
