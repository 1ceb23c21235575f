"""A close in two turns. A mail moves the cut-off; an entry is approved by whoever prepared it."""

from acc_schemas.examples.telling import Scene, agent, document, tell, tool, user
from acc_schemas.finance import FinanceState

SCENES = (
    Scene(
        (
            user(
                "Materiality for the group is EUR 250k, 5% of profit before tax. Accounts payable"
                " for September close on 4 October, 18:00. Never post to a closed period."
            ),
            tool(
                "ledger",
                "Revenue DE GmbH Q3 EUR 4.21m preliminary; account 1200 difference EUR 18,400 in "
                "transit",
            ),
        ),
        {
            "materiality": [
                {
                    "scope": "group",
                    "threshold": "EUR 250k",
                    "basis": "5% of profit before tax",
                    "refs": ["u1"],
                },
            ],
            "cut_offs": [
                {
                    "process": "Accounts payable",
                    "period": "September",
                    "due": "4 October, 18:00",
                    "stage": "open",
                    "refs": ["u1"],
                },
            ],
            "rules": [
                {"quote": "Never post to a closed period", "ref": "u1"},
            ],
            "figures": [
                {
                    "measure": "Revenue",
                    "entity": "DE GmbH",
                    "period": "Q3",
                    "amount": "EUR 4.21m",
                    "basis": "preliminary",
                    "refs": ["t1"],
                },
            ],
            "differences": [
                {
                    "account": "1200",
                    "item": "in transit",
                    "amount": "EUR 18,400",
                    "stage": "open",
                    "refs": ["t1"],
                },
            ],
        },
    ),
    Scene(
        (
            user("JE-881 is approved, up to EUR 52,000."),
            agent("I assume a EUR/USD rate of 1.08 for the accrual."),
            tool(
                "ledger",
                "JE-881 drafted by Ana debit 6400 credit 2310 EUR 52,000; JE-882 preparer Ana "
                "approver Ana",
            ),
            document(
                "mail", "The cut-off of accounts payable for September has moved to 9 October."
            ),
        ),
        {
            "approvals": [
                {
                    "subject": "JE-881",
                    "answer": "given",
                    "terms": "up to EUR 52,000",
                    "refs": ["u2"],
                },
            ],
            "assumptions": [
                {"assumption": "a EUR/USD rate of 1.08", "standing": "proposed", "refs": ["a2"]},
            ],
            "entries": [
                {
                    "entry": "JE-881",
                    "debit": "6400",
                    "credit": "2310",
                    "amount": "EUR 52,000",
                    "stage": "drafted",
                    "preparer": "Ana",
                    "refs": ["t2"],
                },
                {
                    "entry": "JE-882",
                    "debit": "6400",
                    "credit": "2310",
                    "amount": "EUR 52,000",
                    "stage": "reviewed",
                    "preparer": "Ana",
                    "approver": "Ana",
                    "refs": ["t2"],
                },
            ],
            "cut_offs": [
                {
                    "process": "Accounts payable",
                    "period": "September",
                    "due": "9 October",
                    "stage": "reopened",
                    "refs": ["d2"],
                },
            ],
        },
    ),
)
REFUSED = (("entries", "malformed"), ("cut_offs", "untrusted"))
"""What commit refuses: list and reason."""

if __name__ == "__main__":
    tell(FinanceState, SCENES)
