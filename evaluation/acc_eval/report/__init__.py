"""Reports as one HTML file: no network, no other file, readable in light and in dark."""
