"""The paper's live evaluation: a judge that leads the conversation, and agents that answer it."""
