"""The command line, as `python -m tactician`."""

from tactician.cli import main

if __name__ == "__main__":
    main()
