"""The utility report as one page: nothing is fetched, its pictures are part of it."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape

from app.api.pictures import PNG, SVG, picture_response
from app.api.pictures.utility import draw_marginals, draw_pairs
from app.service.utility import Compared
from app.service.utility_report import ReappearanceReport, UtilityReport

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Utility · Cornerwave</title>
<style>body{{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1d2733}}
h1{{font-size:1.5rem}}h2{{font-size:1.15rem;margin-top:2rem}}table{{border-collapse:collapse;width:100%}}
th,td{{text-align:right;padding:.25rem .6rem;border-bottom:1px solid #dde4ea}}
th:first-child,td:first-child{{text-align:left}}img,svg{{max-width:100%;height:auto}}</style>
</head><body>
<h1>How much of the original the release keeps</h1>
<p>{records} original and {released} released records; seed {seed}.{left_out}</p>
<h2>Correlations</h2>{correlations}
<h2>Columns</h2>{columns}
<h2>Records that reappear</h2>
<p>Within a distance of {distance} standard deviations a column. A near record is no leak where the
population is dense: only what exceeds the holdout's rate is.</p>{leakage}
{prediction}<h2>Pairs of columns</h2>
<p>Below the diagonal the original, above it the release.</p>
<img alt="Pairs of columns" src="data:image/png;base64,{pairs}">
<h2>Single columns</h2>{marginals}
</body></html>"""


def utility_page(report: UtilityReport, tables: Compared) -> str:
    """The whole page; texts from the tables are escaped."""
    one_sided = [*report.only_in_original, *report.only_in_released]
    pairs = bytes(picture_response(draw_pairs(tables), PNG).body)
    marginals = bytes(picture_response(draw_marginals(tables), SVG).body).decode()
    return PAGE.format(
        records=report.original_records,
        released=report.released_records,
        seed=report.seed,
        left_out=f" Not compared: {escape(', '.join(one_sided))}." if one_sided else "",
        correlations=_correlations(report),
        columns=_columns(report),
        distance=f"{report.leakage.distance:g}",
        leakage=_leakage(report),
        prediction=_prediction(report),
        pairs=base64.b64encode(pairs).decode(),
        marginals=marginals[marginals.index("<svg") :],
    )


def _correlations(report: UtilityReport) -> str:
    if not report.correlations:
        return "<p>There are no two numeric columns.</p>"
    rows = [
        [one.measure, _shown(one.relative_bias), str(one.pairs), str(one.pairs_left_out)]
        for one in report.correlations
    ]
    return _table(["measure", "relative bias", "pairs", "pairs without correlation"], rows)


def _columns(report: UtilityReport) -> str:
    header = ["column", "kind", "Kolmogorov-Smirnov", "Wasserstein (deviations)", "total variation"]
    rows = [
        [
            one.name,
            one.kind,
            _shown(one.kolmogorov_smirnov),
            _shown(one.wasserstein),
            _shown(one.total_variation),
            f"{one.missing_in_original:.1%}",
            f"{one.missing_in_released:.1%}",
        ]
        for one in report.columns
    ]
    return _table([*header, "missing before", "missing after"], rows)


def _leakage(report: UtilityReport) -> str:
    rows = [_reappearance("original", report.leakage.original)]
    if report.leakage.holdout is not None:
        rows.append(_reappearance("holdout", report.leakage.holdout))
    table = _table(
        ["records", "exactly", "within the distance", "95 % interval", "median distance"], rows
    )
    if report.leakage.excess is None:
        return table
    return f"{table}<p>Excess over the holdout: {report.leakage.excess:.1%}.</p>"


def _reappearance(name: str, found: ReappearanceReport) -> list[str]:
    near = found.within_distance
    return [
        name,
        f"{found.exactly.count} of {found.exactly.of}",
        f"{near.count} of {near.of}",
        f"{near.least:.1%} to {near.most:.1%}",
        _shown(found.median_distance),
    ]


def _prediction(report: UtilityReport) -> str:
    found = report.prediction
    if found is None:
        return ""
    rows = [
        ["the original", _shown(found.trained_on_original)],
        ["the release", _shown(found.trained_on_release)],
        ["nothing (constant answer)", _shown(found.constant)],
    ]
    heading = f"<h2>Predicting {escape(found.target)}</h2>"
    return heading + _table(["trained on", f"{found.measure}, tested on the original"], rows)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"
