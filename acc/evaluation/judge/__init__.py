"""The paper's live evaluation: a judge leads the conversation, and agents answer it."""
