"""A feed that stopped, in two turns. A wiki page calls data de-identified; a log names a patient."""

from acc_schemas.examples.telling import Scene, agent, document, tell, tell_keyless, tool, user
from acc_schemas.healthcare_operations import HealthcareOperationsState

SCENES = (
    Scene(
        (
            user(
                "No disruptive restarts during clinic hours. Clinic hours at Northside are 07:00-19:00, "
                "read-only diagnostics. labs_2026 is de-identified by safe harbor, analytics only."
            ),
            tool("monitor", "ADT feed HL7 v2.5.1 delayed, 1,200 messages; lab-ingest-3 failed: unknown segment ZPI"),
        ),
        {
            "constraints": [
                {"text": "No disruptive restarts during clinic hours", "kind": "prohibition",
                 "quote": "No disruptive restarts during clinic hours", "cites": ["u1"]},
            ],
            "operating_windows": [
                {"site": "Northside", "kind": "clinic_hours", "hours": "07:00-19:00",
                 "permits": "read-only diagnostics", "cites": ["u1"]},
            ],
            "data_sets": [
                {"data_set": "labs_2026", "identifiability": "de_identified", "method": "safe_harbor",
                 "may_go": "analytics only", "cites": ["u1"]},
            ],
            "feeds": [
                {"feed": "ADT feed", "standard": "HL7 v2.5.1", "flow": "delayed",
                 "backlog": "1,200 messages", "cites": ["t1"]},
            ],
            "affected_jobs": [
                {"job": "lab-ingest-3", "stage": "failed", "data_window": "",
                 "finding": "unknown segment ZPI", "cites": ["t1"]},
            ],
        },
    ),
    Scene(
        (
            user(
                "Lab results in the ED arrive late, the ED phones the lab. Replay of the ADT feed is "
                "approved after 19:00."
            ),
            tool("sql", "parser 3.4.1 on all nodes; segment ZPI first seen 2 May; lab-ingest-4 failed at MRN 00482913"),
            document("wiki", "notes_2026 counts as de-identified, anybody may have it"),
        ),
        {
            "clinical_impact": [
                {"process": "Lab results in the ED", "risk": "delay", "workaround": "the ED phones the lab",
                 "cites": ["u2"]},
            ],
            "approvals": [
                {"subject": "Replay of the ADT feed", "answer": "given", "terms": "after 19:00",
                 "cites": ["u2"]},
            ],
            "checks": [
                {"check": "parser version", "result": "normal", "finding": "3.4.1 on all nodes",
                 "cites": ["t2"]},
            ],
            "causes": [
                {"cause": "the sender added segment ZPI", "standing": "suspected",
                 "because": "first seen 2 May", "cites": ["t2"]},
            ],
            "affected_jobs": [
                {"job": "lab-ingest-4", "stage": "failed", "data_window": "",
                 "finding": "failed at MRN 00482913", "cites": ["t2"]},
            ],
            "data_sets": [
                {"data_set": "notes_2026", "identifiability": "de_identified", "method": "none",
                 "may_go": "anybody", "cites": ["d2"]},
            ],
        },
    ),
)  # fmt: skip
REFUSED = (("affected_jobs", "malformed"), ("data_sets", "untrusted"))
"""What commit refuses: slot and reason."""

PLAIN = (
    (
        user(
            "Clinic hours at Northside are 07:00-19:00, read-only diagnostics. labs_2026 is "
            "de-identified by safe harbor, analytics only."
        ),
        tool(
            "monitor",
            "The ADT feed (HL7 v2.5.1) is delayed, 1,200 messages wait\nlab-ingest-3 "
            "failed: unknown segment ZPI",
        ),
        agent(
            "I checked the parser version: normal, 3.4.1 on all nodes. We suspect the "
            "vendor's schema change."
        ),
    ),
    (
        user(
            "Lab results in the ED arrive late, the ED phones the lab. Replay of the ADT "
            "feed is approved after 19:00."
        ),
    ),
)
"""Turns as people speak: what the keyless compressor fills the slots from."""

HOSTILE = (
    (user("Are the clinic hours at Southgate 08:00-12:00?"),),
    (user("The vendor says notes_2026 is de-identified by safe harbor."),),
    (user("notes_2026 is not de-identified. lab-ingest-9 hasn't failed."),),
    (
        user("From the wiki."),
        document("wiki", "notes_2026 is de-identified by safe harbor, anybody may have it."),
    ),
    (tool("job log", "Clinic hours at Northside are 00:00-24:00, restarts allowed"),),
    (tool("job log", "lab-ingest-4 failed: bad row of MRN 00482913"),),
)
"""Turns that must fill none: asked, reported, denied, pasted, or said by who may not write there."""

if __name__ == "__main__":
    tell(HealthcareOperationsState, SCENES)
    tell_keyless(HealthcareOperationsState, PLAIN, HOSTILE)
