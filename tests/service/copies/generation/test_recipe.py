"""A recipe makes the rows of a copy anywhere, and binds noise to rows and their protection."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from app.errors import NotReleasable
from app.model import Part, Role
from app.numerics.copies.applied import applied_variance
from app.numerics.copies.path import bridges
from app.service.context import RequestContext
from app.service.copies.generation.history import Chain
from app.service.copies.generation.recipe import CopyRecipe, ProtectedPart, block, copy_recipe
from app.service.copies.generation.release import Release, Selection, open_release
from app.service.datasets.protection.part_protection import open_protections
from app.service.datasets.secrets import open_secret
from app.store.database.copies import history
from app.store.database.datasets import datasets
from app.store.database.engine import reading
from app.store.database.sharing import principals
from tests.api.conftest import Service
from tests.api.copies.copy_tables import append, issue, mixed_table, register


class Opened:
    """A release of a data set of two parts and three levels, and what its recipe is made of."""

    def __init__(self, service: Service) -> None:
        client = service.client()
        dataset = register(client, mixed_table(300))
        copy = [issue(client, dataset, level=level)["id"] for level in ("b", "d", "c")][-1]
        append(client, dataset, mixed_table(100, seed=1))
        self.resources = service.app.state.resources
        with reading(self.resources.engine) as connection:
            context = RequestContext(principals.with_role(connection, Role.ADMIN)[0], "test")
            entries = history.of(connection, dataset)
            self.chain = Chain(entries[0].previous_hash).extended(entries)
            self.parts = datasets.parts(connection, dataset)
            known = open_protections(self.resources, connection, dataset, self.parts)
            self.protected = [ProtectedPart(part, known[part.number], 0) for part in self.parts]
            self.secret = open_secret(self.resources, connection, dataset)
        self.release: Release = open_release(self.resources, context, copy, Selection())

    def recipe(self, part: ProtectedPart) -> CopyRecipe:
        release = self.release
        return copy_recipe(
            release.dataset,
            release.columns,
            self.chain,
            release.entry,
            self.protected[0].protection,
            [part],
            self.secret,
        )


@pytest.fixture
def opened(sqlite_database: str, tmp_path: Path) -> Iterator[Opened]:
    service = Service(sqlite_database, tmp_path)
    yield Opened(service)
    service.close()


def originals(opened: Opened, part: Part) -> pa.RecordBatch:
    names = [column.name for column in opened.release.columns]
    (found,) = opened.resources.blobs.read_rows(part.blob, 0, part.rows, names)
    return found


def test_a_recipe_sent_elsewhere_makes_the_same_rows(opened: Opened) -> None:
    sent: CopyRecipe = pickle.loads(pickle.dumps(opened.release.recipe))
    made = [block(sent, originals(opened, part), part.number, 0) for part in opened.parts]
    assert pa.Table.from_batches(made).equals(pa.Table.from_batches(opened.release.batches()))


def test_a_block_may_begin_anywhere_in_its_row_group(opened: Opened) -> None:
    part = opened.parts[0]
    whole = block(opened.release.recipe, originals(opened, part), 0, 0)
    rest = block(opened.release.recipe, originals(opened, part).slice(41), 0, 0, first=41)
    assert rest.equals(whole.slice(41))


def test_no_secret_and_no_key_is_shown_by_a_recipe(opened: Opened) -> None:
    said = repr(opened.release.recipe) + repr(opened.release)
    keys = [key for own in opened.release.recipe.parts.values() for key in own.draws.keys.values()]
    assert not any(repr(key) in said for key in [opened.secret, *keys])


def test_other_rows_another_protection_and_rows_that_come_again_draw_with_other_keys(
    opened: Opened,
) -> None:
    own = opened.protected[1]

    def keys(protected: ProtectedPart) -> list[bytes]:
        recipe = opened.recipe(protected).parts[1]
        return [*recipe.draws.keys.values(), recipe.record_key]

    here = opened.release.recipe.parts[1]
    assert keys(own) == [*here.draws.keys.values(), here.record_key]
    others = [
        replace(own, part=replace(own.part, digest="ab" * 32)),
        replace(own, part=replace(own.part, protection="ab" * 32)),
        replace(own, repeats=1),
        replace(own, repeats=2),
    ]
    found = [key for one in (own, *others) for key in keys(one)]
    assert len(set(found)) == 5 * len(keys(own))


def test_the_same_rows_and_protection_draw_the_same_under_any_ordinals(opened: Opened) -> None:
    """Rows appended in another order after a loss are not a second, independent copy."""
    own = opened.protected[1]
    recipe = opened.recipe(replace(own, part=replace(own.part, number=7, first_row=10**6)))
    made = block(recipe, originals(opened, own.part), 7, 0)
    assert made.equals(block(opened.release.recipe, originals(opened, own.part), 1, 0))


def test_noise_of_a_part_is_on_the_axis_of_its_own_association(opened: Opened) -> None:
    own = opened.protected[1]
    told = replace(own.protection, r_squared=0.9)
    recipe = opened.recipe(replace(own, protection=told)).parts[1]
    v = opened.release.entry.noise_variance
    assert recipe.applied_variance == applied_variance(v, 0.9) > v
    axis = bridges([applied_variance(one.noise_variance, 0.9) for one in opened.chain.entries])
    assert recipe.draws.history == {place: axis[place] for place in recipe.draws.keys}


def test_a_number_too_large_for_its_noise_gives_nothing(opened: Opened) -> None:
    rows = originals(opened, opened.parts[0])
    place = rows.schema.get_field_index("income")
    huge = rows.set_column(place, "income", pa.array(np.full(rows.num_rows, 1e300)))
    with pytest.raises(NotReleasable, match="lost to rounding"):
        block(opened.release.recipe, huge, 0, 0)
