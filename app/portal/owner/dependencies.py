"""Dependency that loads an owner's data set; not found for everybody else."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from app.api.transport.dependencies import ContextDep, ResourcesDep
from app.model import Dataset, Role
from app.portal.route import read_form
from app.service.context import require
from app.service.datasets.registry import show_owned

PREFIX = "/portal/owned"
ONE = f"{PREFIX}/{{dataset_id}}"


def own_dataset(dataset_id: str, resources: ResourcesDep, context: ContextDep) -> Dataset:
    """The data set of an address, for its owner or an administrator."""
    return show_owned(resources, context, dataset_id)


OwnDep = Annotated[Dataset, Depends(own_dataset)]


def require_owner(context: ContextDep) -> None:
    """Refuse those who have no data sets of their own."""
    require(context, Role.OWNER)


async def form_fields(request: Request) -> dict[str, str]:
    """The fields of a form whose names follow from a data set."""
    await read_form(request)
    return {name: str(value) for name, value in (await request.form()).items()}


FieldsDep = Annotated[dict[str, str], Depends(form_fields)]
