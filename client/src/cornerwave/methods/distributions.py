"""Estimates of distributions behind perturbed values; surveys by randomised response."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cornerwave.methods.answers import Json, names
from cornerwave.transport.bodies import JsonBody
from cornerwave.transport.calls import Answer, Call, Flow, every, get, path_of, send
from cornerwave.transport.drivers import operation
from cornerwave.values import Report, Survey, load


def _form(**fields: Any) -> JsonBody:
    return JsonBody({name: value for name, value in fields.items() if value is not None})


def _asked(what: str, form: JsonBody, *needed: str) -> Flow[Report]:
    answer: Answer = yield Call("POST", path_of("distributions", what), body=form)
    return Report(answer.json(*needed))


class Distributions:
    """Perturbed values, and surveys."""

    @operation
    def estimate(
        self,
        /,
        values: Sequence[float] | None = None,
        *,
        noise: Json | None = None,
        histogram: Json | None = None,
        copy_id: str | None = None,
        column: str | None = None,
        **options: Any,
    ) -> Flow[Report]:
        """The distribution behind perturbed values, a histogram of them, or a column of a copy."""
        form = _form(
            values=None if values is None else list(values),
            noise=noise,
            histogram=histogram,
            copy_id=copy_id,
            column=column,
            **options,
        )
        return (yield from _asked("estimate", form, "edges", "probabilities"))

    @operation
    def perturb(
        self,
        values: Sequence[float] | None = None,
        *,
        answers: Sequence[str] | None = None,
        noise: Json | None = None,
        perturbation: Json | None = None,
        edges: Sequence[float] | None = None,
        categories: Sequence[str] | None = None,
        seed: int | None = None,
    ) -> Flow[Report]:
        """Values with noise, or answers as the vectors that a survey counts."""
        form = _form(
            values=None if values is None else list(values),
            answers=names(answers),
            noise=noise,
            perturbation=perturbation,
            edges=None if edges is None else list(edges),
            categories=names(categories),
            seed=seed,
        )
        return (yield from _asked("perturb", form))

    @operation
    def measures(
        self, settings: Sequence[Json], *, responses: int | None = None, seed: int | None = None
    ) -> Flow[Report]:
        """Measure privacy and information loss of perturbations."""
        form = _form(settings=[dict(each) for each in settings], responses=responses, seed=seed)
        return (yield from _asked("measures", form))

    @operation
    def create_survey(
        self,
        name: str,
        *,
        perturbation: Mapping[str, Any],
        categories: Sequence[str] | None = None,
        edges: Sequence[float] | None = None,
    ) -> Flow[Survey]:
        """Begin a survey over categories, or over the bins between edges."""
        form = {
            "name": name,
            "perturbation": dict(perturbation),
            "categories": None if categories is None else list(categories),
            "edges": None if edges is None else list(edges),
        }
        answer: Answer = yield send("POST", "surveys", form=form)
        return load(Survey, answer.json())

    @operation
    def surveys(self) -> Flow[list[Survey]]:
        """The surveys that this principal may see."""
        found = yield from every("surveys", "surveys")
        return [load(Survey, each) for each in found]

    @operation
    def survey(self, survey_id: str) -> Flow[Survey]:
        """One of them."""
        answer: Answer = yield get("surveys", survey_id)
        return load(Survey, answer.json())

    @operation
    def add_responses(self, survey_id: str, vectors: Sequence[Sequence[int]]) -> Flow[Report]:
        """Count perturbed answers."""
        form = {"vectors": [list(vector) for vector in vectors]}
        answer: Answer = yield send("POST", "surveys", survey_id, "responses", form=form)
        return Report(answer.json())

    @operation
    def estimate_survey(self, survey_id: str) -> Flow[Report]:
        """The shares behind the perturbed answers, with their errors."""
        answer: Answer = yield get("surveys", survey_id, "estimate")
        return Report(answer.json())

    @operation
    def remove_survey(self, survey_id: str) -> Flow[None]:
        """Remove a survey and its counts."""
        yield send("DELETE", "surveys", survey_id)
