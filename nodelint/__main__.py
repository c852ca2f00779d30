"""`python -m nodelint`."""

from nodelint.cli import main

main()
