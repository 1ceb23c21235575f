"""``python -m acc``: the command line."""

from acc.cli import main

if __name__ == "__main__":
    main()
