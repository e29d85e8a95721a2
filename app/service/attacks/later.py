"""Audits that are asked for in one request and looked at in another: jobs of their own."""

from __future__ import annotations

from app.numerics.attacks.battery import Attack
from app.service.access import owned
from app.service.asking import Ask, Once, new_id, work
from app.service.attacks.audit import Wish, run_audit
from app.service.jobs.enqueue import enqueue, payload_of
from app.service.jobs.kinds import Kind, Outcome
from app.service.jobs.progress import Progress
from app.service.resources import Resources
from app.store.database import receipts
from app.store.database.engine import reading
from app.store.database.jobs import Job
from app.store.database.sharing import callers

AUDIT = "audit"


def ask_for_audit(resources: Resources, ask: Ask, dataset_id: str, wish: Wish) -> str:
    """Have copies audited by a job, for the data set's owner; the job's id."""
    job_id = new_id("job")
    with work(resources, ask) as under_way:
        owned(under_way.connection, ask, dataset_id)
        enqueue(
            under_way.connection,
            resources,
            kind=AUDIT,
            subject=dataset_id,
            payload={
                "levels": wish.levels,
                "issued": wish.issued,
                "attacks": [attack.value for attack in wish.attacks],
                "most_rows": wish.most_rows,
                "seed": wish.seed,
            },
            caller=ask.caller,
            request_id=ask.request_id,
            job_id=job_id,
        )
        under_way.record("audit.ask", dataset_id, job=job_id)
    return job_id


def _audit(resources: Resources, job: Job, progress: Progress) -> Outcome:
    given = payload_of(resources, job)
    once = Once(f"job:{job.id}", lambda: job.id)
    with reading(resources.engine) as connection:
        record = callers.one(connection, job.caller or "")
        assert record is not None  # whoever runs jobs has looked whether the caller is there still
        if receipts.find(connection, record.caller.id, once.key) is not None:
            return Outcome()  # an earlier attempt had kept what it found
    ask = Ask(record.caller, job.request_id, once)
    wish = Wish(
        levels=tuple(given["levels"]),
        issued=given["issued"],
        attacks=tuple(Attack(name) for name in given["attacks"]),
        most_rows=given["most_rows"],
        seed=given["seed"],
    )
    return Outcome(subject=run_audit(resources, ask, job.subject, wish, progress).id)


AUDITING = Kind(_audit)
