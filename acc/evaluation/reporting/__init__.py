"""Results of evaluations as one HTML page."""
