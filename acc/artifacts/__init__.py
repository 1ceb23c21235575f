"""The artifact store: every turn's text and vector for any client to query; an index behind the journal's commit."""
