"""`python -m ebmkit`."""

from ebmkit.cli import main

if __name__ == "__main__":
    main()
