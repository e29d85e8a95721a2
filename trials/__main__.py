"""`make trials`: go on where the trials stopped, then write docs/trials.md.

make trials                          everything, to the full numbers
make trials ARGS="--share 0.2"       to a fifth of them
make trials ARGS="kills faults"      these alone
make trials ARGS="--page-only"       the page, from what is there
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from trials.campaign import TRIALS, TrialContext
from trials.errors import InvariantViolation
from trials.page import write_trials_page
from trials.state import State

ROOT = Path(__file__).resolve().parents[1]
STATE = ROOT / "trials" / "counts.json"
MEMORY = Path("/dev/shm")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="trials", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(TRIALS)}")
    parser.add_argument("--share", type=float, default=1.0, help="of the full numbers")
    parser.add_argument("--state", type=Path, default=STATE, help="where the counts are kept")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "trials.md")
    parser.add_argument("--page-only", action="store_true")
    options = parser.parse_args()
    if unknown := set(options.names) - TRIALS.keys():
        parser.error(f"no such trial: {', '.join(sorted(unknown))}")
    state = State.load(options.state)
    console = Console()
    violated = False
    # A kill of a process loses nothing that was written: what waits for a disk can be spared.
    place = MEMORY if MEMORY.is_dir() else None
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    for name in () if options.page_only else (options.names or TRIALS):
        with tempfile.TemporaryDirectory(prefix="cornerwave-trials-", dir=place) as folder:
            state.begin(name, commit or "no checkout")
            try:
                TRIALS[name](TrialContext(state, Path(folder), options.share, console))
            except InvariantViolation as violation:
                violated = True
                state.add_finding(name, str(violation))

                console.print(f"[red]{name}: {violation}")
    write_trials_page(state, options.page)
    console.print(f"wrote {options.page}")
    sys.exit(1 if violated else 0)


if __name__ == "__main__":
    main()
