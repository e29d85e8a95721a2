"""`python -m app` is the `cornerwave` command."""

from app.cli import main

main()
