"""`python -m app` is the `cornerwave-server` command."""

from app.cli import main

main()
