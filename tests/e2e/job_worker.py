"""A process whose children run jobs until they are killed, again and again.

It loads the service once and then, for every line on its standard input, forks a child, says the
child's number and, when the child has ended, `ended`. The child is a worker with two threads.
"""

from __future__ import annotations

import os
import signal
import sys

from app.main import open_resources, register_job_handlers
from app.service.jobs.runner import Runner
from app.settings import settings_from


def main() -> None:
    resources = open_resources(settings_from(os.environ))
    register_job_handlers(resources)
    for _line in sys.stdin:
        resources.engine.dispose()  # a child must not share a connection
        child = os.fork()
        if child == 0:
            Runner(resources, 2).start()
            while True:
                signal.pause()
        print(child, flush=True)
        os.waitpid(child, 0)
        print("ended", flush=True)


if __name__ == "__main__":
    main()
