"""Files of a copy: written at the first request, then kept.

A file that had to make room is remade when it is wanted, to the bit: its hash is compared.

Eviction removes the least recently used first. It has two steps, and a crash between them loses nothing: a commit
deletes the reference to the object; then the object is removed, and its name deleted. What lies between is removed
by the next start.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from app.errors import NotFound, StorageFull
from app.service.context import RequestContext, new_id
from app.service.copies.files.file_writer import (
    CopyFileStatistics,
    FilePlan,
    FileTask,
    Statistics,
    first_plans,
    planned_files,
    write_file,
)
from app.service.copies.generation.release import Release, Selection
from app.service.progress import NO_PROGRESS, Progress
from app.service.resources import Resources
from app.service.unit_of_work import is_duplicate
from app.store.blobs.sealed_bytes import PlainFile, SealedFile
from app.store.database.copies import released_files as kept_files
from app.store.database.copies.released_files import ReleasedFile, WrittenFileFacts
from app.store.database.engine import reading, writing

LOOKED_AT = 100
FORGOTTEN_AFTER = timedelta(days=30)
"""How long it is known of a file that is not there what its size and hash were."""


def make_room(resources: Resources, *, keep: str) -> None:
    """Remove files until the rest is within the budget; `keep` was just written and stays.

    StorageFull, with the reference removed again, where objects behind valid presigned URLs fill the budget.
    """
    budget = resources.limits.release_cache_bytes
    while True:
        with reading(resources.engine) as connection:
            over = kept_files.held_bytes(connection) - budget
            oldest = kept_files.longest_unused(connection, LOOKED_AT) if over > 0 else []
        if over <= 0:
            return
        removable = [file for file in oldest if file.id != keep and not _promised(resources, file)]
        if not removable:
            if resources.released.presigner is None:
                return  # one file is larger than all the room: it is served, and goes next
            _release_new(resources, keep)
            raise StorageFull(
                "The files asked for, and those whose URLs still hold, take more than"
                " CORNERWAVE_RELEASE_CACHE_BYTES. Ask for fewer rows or columns, or later.",
                seconds=resources.limits.signed_url_seconds,
            )
        for file in removable:
            if over <= 0:
                break
            over -= file.size or 0
            _remove(resources, file)


def sweep_released(resources: Resources, now: datetime) -> int:
    """Remove what no file names as its own and nobody is writing; how many objects that were."""
    with writing(resources.engine) as connection:
        kept_files.forget_unused(connection, now - FORGOTTEN_AFTER)
    with reading(resources.engine) as connection:
        strays = kept_files.stray_objects(connection)
    removed = 0
    for stray in strays:
        with resources.released.unattended(stray.object, stray.since) as free:
            if not free:
                continue
            with reading(resources.engine) as connection:
                # Looked at again: it may have become a file's meanwhile.
                still = {one.object for one in kept_files.stray_objects(connection)}
            if stray.object in still:
                _remove_object(resources, stray.object)
                removed += 1
    return removed


def remove_objects(resources: Resources, dataset_id: str) -> None:
    """Remove the files of a data set that is gone; what cannot be removed now is removed by the next start."""
    with suppress(SQLAlchemyError, OSError):
        with reading(resources.engine) as connection:
            gone = [
                stray
                for stray in kept_files.stray_objects(connection)
                if stray.dataset == dataset_id
            ]
        for stray in gone:
            _remove_object(resources, stray.object)


def _promised(resources: Resources, file: ReleasedFile) -> bool:
    """Return whether a URL of the bucket's own may be in use: what the service serves it can remake."""
    if resources.released.presigner is None or file.promised_until is None:
        return False
    return file.promised_until > datetime.now(UTC)


def _remove(resources: Resources, file: ReleasedFile) -> None:
    assert file.object is not None
    with writing(resources.engine) as connection:
        let_go = kept_files.let_go(connection, file.id, file.object)
    if let_go:
        _remove_object(resources, file.object)


def _remove_object(resources: Resources, object_name: str) -> None:
    resources.released.remove(object_name)
    with writing(resources.engine) as connection:
        kept_files.forget_object(connection, object_name)


def _release_new(resources: Resources, file_id: str) -> None:
    with reading(resources.engine) as connection:
        file = kept_files.find(connection, [file_id]).get(file_id)
    if file is not None and file.object is not None:
        _remove(resources, file)


@dataclass(frozen=True, repr=False)
class CopyFile:
    """A file as those who may have it see it.

    where:
        id          stands for its bytes: the same for the same copy, columns and rows
        size        in bytes
        first_row, end_row  the ordinals that it covers; those withdrawn have no row in it
        statistics  column → missing cells, the least and the greatest value
    """

    id: str
    name: str
    size: int
    sha256: str
    rows: int
    first_row: int
    end_row: int
    statistics: Statistics


def released_files(
    resources: Resources,
    context: RequestContext,
    copy_id: str,
    selection: Selection,
    *,
    promised_until: datetime | None = None,
    enough_rows: int | None = None,
    progress: Progress = NO_PROGRESS,
) -> tuple[Release, list[CopyFile]]:
    """The files of a selection of a copy, in the order of its rows; those not known are written.

    `enough_rows` leaves out the files after the first that have so many rows together.

    Until `promised_until` none of them is removed where a bucket hands them out. NotFound or Refusal
    when the copy is not for the principal.
    """
    release, plans = planned_files(resources, context, copy_id, selection)
    if enough_rows is not None:
        plans = first_plans(plans, enough_rows)
    now = datetime.now(UTC)
    known = _known(resources, release, plans, now)
    with writing(resources.engine) as connection:
        kept_files.use(connection, [plan.id for plan in plans], now, promised_until)
    # Where the service hands out files itself, one that made room is remade when it is read.
    by_bucket = resources.released.presigner is not None
    wanted = [
        plan
        for plan in plans
        if known[plan.id].size is None or (by_bucket and known[plan.id].object is None)
    ]
    write_files(resources, release.dataset.id, wanted, progress)
    with reading(resources.engine) as connection:
        known = kept_files.find(connection, [plan.id for plan in plans])
    return release, [_shown(resources, known[plan.id]) for plan in plans]


def open_file(
    resources: Resources, context: RequestContext, file: ReleasedFile
) -> SealedFile | PlainFile:
    """The bytes of a file, remade where they made room; NotFound when it is no more of the copy."""
    if file.object is not None:
        with suppress(FileNotFoundError):
            return resources.released.open(file.object)
        _lost(resources, file)
    selection = Selection(file.columns, file.first_row, file.end_row)
    _, plans = planned_files(resources, context, file.copy, selection)
    again = [plan for plan in plans if plan.id == file.id]
    if not again:
        raise NotFound("this file is not part of the copy any more; ask for its files again")
    write_files(resources, file.dataset, again)
    with reading(resources.engine) as connection:
        there = kept_files.find(connection, [file.id]).get(file.id)
    if there is None or there.object is None:
        raise NotFound("this file is not part of the copy any more; ask for its files again")
    return resources.released.open(there.object)


def write_files(
    resources: Resources,
    dataset_id: str,
    plans: Sequence[FilePlan],
    progress: Progress = NO_PROGRESS,
) -> None:
    """Write these files, several at a time; each is known as soon as it is whole."""
    tasks = _tasks(resources, plans)
    begun: list[str] = []

    def announced() -> Iterator[FileTask]:
        for task in tasks:
            begun.append(task.file.object)
            with writing(resources.engine) as connection:
                kept_files.announce(connection, task.file.object, dataset_id, datetime.now(UTC))
            yield task

    try:
        with closing(
            resources.executor.map(write_file, announced(), progress.raise_if_cancelled)
        ) as written:
            for place, (plan, made) in enumerate(zip(plans, written, strict=True)):
                _keep(resources, plan, begun[place], made)
                progress.report("writing files", place + 1, len(plans))
    except BaseException:
        # What nobody writes any more goes now; what a machine far away still writes goes later.
        with suppress(SQLAlchemyError, OSError):
            sweep_released(resources, datetime.now(UTC))
        raise


def _tasks(resources: Resources, plans: Sequence[FilePlan]) -> Iterator[FileTask]:
    for plan in plans:
        blobs = {piece.part.blob for piece in plan.pieces}
        file = resources.released.new(f"{plan.id}-{new_id('o')[-8:]}")
        yield FileTask(plan, resources.blobs.rows_of(sorted(blobs)), file)


def _known(
    resources: Resources, release: Release, plans: Sequence[FilePlan], now: datetime
) -> dict[str, ReleasedFile]:
    """Return the known files, new ones among them."""
    ids = [plan.id for plan in plans]
    columns = tuple(column.name for column in release.columns)
    while True:
        try:
            with writing(resources.engine) as connection:
                known = kept_files.find(connection, ids)
                new = [
                    ReleasedFile(
                        id=plan.id,
                        dataset=release.dataset.id,
                        copy=release.entry.copy,
                        first_row=plan.first_row,
                        end_row=plan.end_row,
                        columns=columns,
                        retired=len(plan.retired),
                        rows=plan.rows,
                        used_at=now,
                    )
                    for plan in plans
                    if plan.id not in known
                ]
                kept_files.add(connection, new)
            return known | {file.id: file for file in new}
        except IntegrityError as error:
            # Somebody asked for the same files at the same time, or the data set was removed.
            if not is_duplicate(error):
                raise NotFound("the data set of this copy was removed") from None


def _keep(resources: Resources, plan: FilePlan, object_name: str, made: CopyFileStatistics) -> None:
    """Let a written file be known; another of the same bytes may have come first."""
    context = _context(plan.id)
    sealed = resources.vault.seal(orjson.dumps(made.statistics), context)
    with reading(resources.engine) as connection:
        before = kept_files.find(connection, [plan.id]).get(plan.id)
    if before is not None and before.sha256 not in (None, made.sha256):
        _discard(resources, object_name)
        raise ValueError("a file was remade in other bytes than it had")
    with writing(resources.engine) as connection:
        whole = WrittenFileFacts(made.size, made.sha256, sealed)
        ours = kept_files.now_holds(connection, plan.id, object_name, whole)
    if not ours:
        _discard(resources, object_name)
        return
    make_room(resources, keep=plan.id)


def _lost(resources: Resources, file: ReleasedFile) -> None:
    """Somebody removed the bytes behind our back."""
    assert file.object is not None
    with writing(resources.engine) as connection:
        kept_files.let_go(connection, file.id, file.object)
        kept_files.forget_object(connection, file.object)


def _discard(resources: Resources, object_name: str) -> None:
    """Remove what there is of an object; what cannot be removed now is removed by the next start."""
    with suppress(SQLAlchemyError, OSError):
        resources.released.remove(object_name)
        with writing(resources.engine) as connection:
            kept_files.forget_object(connection, object_name)


def _shown(resources: Resources, file: ReleasedFile) -> CopyFile:
    if file.size is None or file.sha256 is None or file.statistics is None:
        raise ValueError("a file was not written")
    opened = resources.vault.open(file.statistics, _context(file.id))
    statistics: dict[str, dict[str, Any]] = orjson.loads(opened)
    return CopyFile(
        id=file.id,
        name=f"{file.id}.parquet",
        size=file.size,
        sha256=file.sha256,
        rows=file.rows,
        first_row=file.first_row,
        end_row=file.end_row,
        statistics=statistics,
    )


def _context(file_id: str) -> str:
    return f"file-statistics:{file_id}"
