"""ACC at home in other frameworks. Each file loads its vendor only when it is imported itself."""
