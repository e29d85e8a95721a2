"""Mutation check: break one line of the service at a time, and see whether the tests notice.

    python -m tests.mutations [--seed N] [--skip N] [--count N] [--thorough] [--list]

Every mutation is applied in a scratch worktree of the current commit. Those test modules run that import the mutated module or
mirror its folder, and with --thorough all tests in process before one counts as escaped. A failure counts as found only if the failing test passes on the
unbroken line. Mutations were chosen from the code without looking at its tests; one whose old line is gone is reported as stale.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
IN_PROCESS = [
    "tests/api",
    "tests/service",
    "tests/portal",
    "tests/numerics",
    "tests/store",
    "tests/tables",
]


@dataclass(frozen=True)
class Mutation:
    """One line of a file below app/, which occurs once, and what it becomes."""

    file: str
    old: str
    new: str


# Wrong formulas and swapped bounds
FORMULAS = [
    Mutation(
        "numerics/attacks/closed_forms.py",
        "return noise_variance / (noise_variance + 1) * covariance",
        "return noise_variance / (noise_variance + 2) * covariance",
    ),
    Mutation(
        "numerics/attacks/closed_forms.py",
        "return float(left + np.sum(eigenvalues[p:])) / len(covariance)",
        "return float(left + np.sum(eigenvalues[p + 1 :])) / len(covariance)",
    ),
    Mutation(
        "numerics/attacks/estimation.py",
        "surprise = known[np.ix_(rows, pattern)] - improved[np.ix_(rows, pattern)]",
        "surprise = improved[np.ix_(rows, pattern)] - known[np.ix_(rows, pattern)]",
    ),
    Mutation(
        "numerics/attacks/estimation.py",
        "autocovariance = centred[: n - lag].T @ centred[lag:] / n",
        "autocovariance = centred[: n - lag].T @ centred[lag:] / (n - lag)",
    ),
    Mutation(
        "numerics/attacks/univariate.py",
        "log_weights = log_prior - (block - centres) ** 2 / (2 * noise_variance)",
        "log_weights = log_prior - (block - centres) ** 2 / noise_variance",
    ),
    Mutation("numerics/attacks/score.py", "tail = (1 - confidence) / 2", "tail = 1 - confidence"),
    Mutation(
        "numerics/attacks/score.py",
        "overall_normalised_error=float(_normalised(mean_squared.sum(), variance.sum())),",
        "overall_normalised_error=float(_normalised(mean_squared, variance).mean()),",
    ),
    Mutation(
        "numerics/attacks/spectral.py",
        "return float(np.trace(noise_covariance) / d * (1 + np.sqrt(d / n)) ** 2)",
        "return float(np.trace(noise_covariance) / d * (1 + np.sqrt(n / d)) ** 2)",
    ),
    Mutation(
        "numerics/attacks/spectral.py",
        "return int(np.searchsorted(carried, share * carried[-1] * (1 - 1e-12))) + 1",
        "return int(np.searchsorted(carried, share * carried[-1] * (1 - 1e-12)))  or 1",
    ),
    Mutation(
        "numerics/deconvolution/em.py",
        "low, high = np.quantile(spread, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=1)",
        "low, high = np.quantile(spread, [1 - LEVEL, LEVEL], axis=1)",
    ),
    Mutation(
        "numerics/deconvolution/em.py",
        "drawn = rng.multinomial(records, histogram.counts / histogram.total, size=DRAWS).T / records",
        "drawn = rng.multinomial(10 * records, histogram.counts / histogram.total, size=DRAWS).T / (10 * records)",
    ),
    Mutation(
        "numerics/swapping/identifiability.py",
        "alike = np.minimum.reduceat(value, start) == np.maximum.reduceat(value, start)",
        "alike = value[start] == value[start + size - 1]",
    ),
    Mutation(
        "numerics/swapping/fidelity.py",
        "return Divergence(max(float(np.sum(p * np.log(p / q))), 0.0), 0)",
        "return Divergence(max(float(np.sum(q * np.log(p / q))), 0.0), 0)",
    ),
    Mutation(
        "numerics/moments.py",
        "self.comoment + other.comoment + shift * shift.T * self.count * share,",
        "self.comoment + other.comoment + shift * shift.T * other.count * share,",
    ),
    Mutation("numerics/moments.py", "freedom = self.count - 1.0", "freedom = self.count"),
    Mutation(
        "numerics/moments.py",
        "offset = np.divide(sums, count, out=np.zeros_like(sums), where=count > 0)",
        "offset = np.divide(sums, count + 1, out=np.zeros_like(sums), where=count > 0)",
    ),
    Mutation(
        "numerics/utility/association.py",
        "return float(np.sqrt(min(1.0, between / total)))",
        "return float(min(1.0, between / total))",
    ),
    Mutation(
        "numerics/utility/association.py",
        "chi_square / (counts.sum() * (min(counts.shape) - 1))",
        "chi_square / (counts.sum() * (max(counts.shape) - 1))",
    ),
    Mutation(
        "numerics/indicator/scheme.py",
        "variance = within * score.variance_shifted + (1 - within) * score.variance",
        "variance = within * score.variance + (1 - within) * score.variance_shifted",
    ),
    Mutation(
        "numerics/indicator/scheme.py",
        "inside = (numbers >= edges[0]) & (numbers <= edges[-1])  # false for a missing value",
        "inside = (numbers > edges[0]) & (numbers <= edges[-1])  # false for a missing value",
    ),
]
# Missing permission checks
RIGHTS = [
    Mutation(
        "service/context.py",
        "if ask.principal.role not in (Role.ADMIN, *roles):",
        "if ask.principal.role is Role.RECIPIENT and Role.RECIPIENT not in roles:",
    ),
    Mutation(
        "service/context.py",
        "if by_hand is not None and (by_hand.expires_at is None or by_hand.expires_at > now):",
        "if by_hand is not None:",
    ),
    Mutation(
        "service/context.py",
        "if variances.get(grant.level, math.inf) <= noise_variance",
        "if variances.get(grant.level, math.inf) >= noise_variance",
    ),
    Mutation(
        "service/context.py",
        "if grant is not None or ask.principal.role is Role.AUDITOR:",
        "if grant is not None:",
    ),
    Mutation(
        "service/authentication.py",
        "if principal.agreement is not None and bound not in bindings:",
        "if principal.agreement is not None and not bindings:",
    ),
    Mutation(
        "service/authentication.py",
        "if not allowed.issuperset(columns) or first_row < grant.first_row:",
        "if not allowed.issuperset(columns):",
    ),
    Mutation(
        "service/authentication.py",
        "if holder(connection) != ask.principal:",
        "if holder(connection) is None:",
    ),
    Mutation(
        "service/sharing/grants.py",
        "if column.kind is Kind.IDENTIFIER:",
        "if column.kind is Kind.IDENTIFIER and len(names) > 1:",
    ),
    Mutation(
        "service/sharing/grants.py",
        "if grant.expires_at <= datetime.now(UTC):",
        "if grant.expires_at > datetime.now(UTC):",
    ),
    Mutation(
        "service/sharing/sessions.py",
        "return min(now + idle, begun_at + LONGEST)",
        "return max(now + idle, begun_at + LONGEST)",
    ),
    Mutation(
        "service/distributions/surveys.py",
        "if ask.principal.role is not Role.ADMIN and survey.owner != ask.principal.id:",
        "if ask.principal.role is Role.RECIPIENT and survey.owner != ask.principal.id:",
    ),
    Mutation("service/distributions/surveys.py", "    _require_reader(ask, survey)\n", ""),
    Mutation(
        "service/logs.py",
        """    require(ask, Role.AUDITOR)
    with snapshot(resources.engine) as connection:""",
        """    with snapshot(resources.engine) as connection:""",
    ),
    Mutation(
        "service/copies/files/signed_urls.py",
        "if withdrawn != file.retired:",
        "if withdrawn < file.retired:",
    ),
    Mutation(
        "service/copies/files/signed_urls.py",
        "content = [self.file, self.principal, self.key or NO_KEY, str(self.expires), READ]",
        "content = [self.file, self.principal, str(self.expires), READ]",
    ),
    Mutation(
        "service/sharing/agreements/terms.py",
        "if level is None or not (level.offered or in_terms):",
        "if level is None:",
    ),
    Mutation(
        "service/sharing/agreements/terms.py",
        "if dataset is None or not (dataset.listed or in_terms):",
        "if dataset is None:",
    ),
    Mutation(
        "service/sharing/principals.py",
        "if record is None or record.revoked_at or record.principal.role is not Role.RECIPIENT:",
        "if record is None or record.principal.role is not Role.RECIPIENT:",
    ),
    Mutation(
        "service/sharing/delta/profiles.py",
        "        principals.revoke_share_keys(connection, event.agreement.id, moment(connection))\n",
        "        pass\n",
    ),
    Mutation(
        "store/database/sharing/sessions.py",
        "or_(sessions.c.key.is_(None), keys.c.revoked_at.is_(None)),",
        "",
    ),
]
# Lost commits, races, seals
STATE = [
    Mutation("service/context.py", "            under_way.keep()\n", "            pass\n"),
    Mutation(
        "store/database/audit_log.py",
        "at = now if newest.at is None else max(now, newest.at)",
        "at = now",
    ),
    Mutation(
        "store/database/audit_log.py",
        "query = query.where(entries.at < wanted.until)",
        "query = query.where(entries.at <= wanted.since)",
    ),
    Mutation(
        "store/database/jobs.py",
        """.where(jobs.id == job_id, _is_free(now))
        .values(
            state=JobState.RUNNING,""",
        """.where(jobs.id == job_id)
        .values(
            state=JobState.RUNNING,""",
    ),
    Mutation(
        "store/database/jobs.py",
        "attempts=jobs.attempts if counted else jobs.attempts - 1,",
        "attempts=jobs.attempts,",
    ),
    Mutation(
        "store/database/jobs.py",
        "or_(jobs.created_at < then, and_(jobs.created_at == then, jobs.id < after))",
        "jobs.created_at < then",
    ),
    Mutation(
        "store/vault.py",
        "nonce + self._cipher.encrypt(nonce, secret, context.encode())",
        'nonce + self._cipher.encrypt(nonce, secret, b"")',
    ),
    Mutation(
        "store/blobs/sealed_bytes.py",
        "while len(self._held) > CHUNK_BYTES:",
        "while len(self._held) >= CHUNK_BYTES:",
    ),
    Mutation(
        "store/caches/rate_counter.py",
        "pipeline.expire(key, 2 * WINDOW_SECONDS)",
        "pipeline.persist(key)",
    ),
    Mutation(
        "store/caches/rate_counter.py",
        "return 0  # not of this service, or not of this minute",
        "return 1",
    ),
    Mutation(
        "store/blobs/released.py",
        "                self.place.remove(self.object)\n                raise\n",
        "                raise\n",
    ),
    Mutation(
        "api/transport/route.py",
        "if receipt.fingerprint != once.fingerprint():",
        "if receipt.status is None and receipt.fingerprint != once.fingerprint():",
    ),
    Mutation(
        "api/transport/route.py",
        'shown_once = "no-store" in response.headers.get("cache-control", "")',
        "shown_once = False",
    ),
]
# Off by one, wrong status, leaks, escapes
OUTSIDE = [
    Mutation(
        "api/transport/paging.py", "if len(found) < self.limit:", "if len(found) <= self.limit:"
    ),
    Mutation(
        "service/sharing/agreements/schedules.py",
        "allowed.update(range(low, high + 1, step))",
        "allowed.update(range(low, high, step))",
    ),
    Mutation(
        "service/sharing/agreements/schedules.py",
        "both = by_date or by_weekday if self.either_day else by_date and by_weekday",
        "both = by_date and by_weekday",
    ),
    Mutation(
        "service/sharing/outbox/http_post.py",
        "if not all(known or is_public(address) for known, address in zip(own, found, strict=True)):",
        "if not any(known or is_public(address) for known, address in zip(own, found, strict=True)):",
    ),
    Mutation(
        "service/sharing/outbox/http_post.py",
        "return address.ipv4_mapped or address.sixtofour",
        "return address.ipv4_mapped",
    ),
    Mutation(
        "tables/values/dates.py",
        "right = pc.and_(matched, pc.equal(pc.day(moments), said))",
        "right = matched",
    ),
    Mutation(
        "tables/values/normalisation.py",
        "if low is None or (low >= -EXACT and high <= EXACT):",
        "if low is None or high <= EXACT:",
    ),
    Mutation(
        "tables/formats/parquet_pages.py",
        "total += declared",
        "total = declared",
    ),
    Mutation(
        "tables/formats/archive.py",
        "refuse_swollen(total, len(content), UNPACKED_BYTES)",
        "refuse_swollen(len(packed), len(content), UNPACKED_BYTES)",
    ),
    Mutation(
        "api/transport/access_log.py",
        'route = getattr(scope.get("route"), "path", "unmatched")',
        'route = scope["path"]',
    ),
    Mutation(
        "api/transport/access_log.py",
        'extra={"request_id": request_id, "failure": places_of(error)})',
        'extra={"request_id": request_id, "failure": str(error)})',
    ),
    Mutation("api/transport/problems.py", "errors.StorageFull: 507,", "errors.StorageFull: 503,"),
    Mutation("api/transport/problems.py", "errors.RateLimited: 429,", "errors.RateLimited: 403,"),
    Mutation("portal/pages.py", "    autoescape=True,", "    autoescape=False,"),
]


def mutations() -> list[Mutation]:
    """All of them, in the order in which they are written."""
    return [*FORMULAS, *RIGHTS, *STATE, *OUTSIDE]


def covering(file: str) -> list[str]:
    """Test modules that import the mutated module or have its name, then the folders that mirror it."""
    module = "app." + file.removesuffix(".py").replace("/", ".")
    package, _, name = module.rpartition(".")
    imports = re.compile(
        rf"^(from|import) {re.escape(module)}\b|^from {re.escape(package)} import .*\b{name}\b",
        re.M,
    )
    importing = {
        str(path.relative_to(ROOT))
        for top in IN_PROCESS
        for path in (ROOT / top).rglob("test_*.py")
        if path.stem == f"test_{name}" or imports.search(path.read_text(encoding="utf-8"))
    }
    return [*sorted(importing), *sorted(str(folder) for folder in mirrors(file))]


def mirrors(file: str) -> set[Path]:
    """The nearest folders of tests that mirror the folder of a file.

    Tests of the API mirror the service too, and all of them what every route shares.
    """
    folder = Path(file).parent
    if folder.parts[0] == "service":
        wanted = [folder, Path("api", *folder.parts[1:])]
    else:
        wanted = [Path("api") if folder.parts[:2] == ("api", "transport") else folder]
    found = set()
    for mirror in wanted:
        nearest = next(
            one
            for one in (mirror, *mirror.parents)
            if (ROOT / "tests" / one / "__init__.py").exists()
        )
        if nearest.parts:
            found.add(Path("tests", nearest))
    return found


@contextmanager
def scratch() -> Iterator[Path]:
    """A worktree of the current commit, removed at the end."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "scratch")
        subprocess.run(["git", "worktree", "add", "--detach", place], cwd=ROOT, check=True)
        try:
            yield place
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", place], cwd=ROOT, check=True)


def first_failure(place: Path, selected: list[str]) -> str | None:
    """The first test that fails, or what pytest says when it cannot even begin; None when all pass."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *selected]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.M)
    return failed[1] if failed else "the tests could not be collected"


def judged(place: Path, mutation: Mutation, *, thorough: bool) -> dict[str, str]:
    """Apply a mutation, run the tests, restore the file; what came of it."""
    path = place / "app" / mutation.file
    whole = path.read_text(encoding="utf-8")
    said = {"file": mutation.file, "new": mutation.new.strip()}
    if whole.count(mutation.old) != 1:
        return said | {"verdict": "stale"}
    by = None
    for selected in (covering(mutation.file), IN_PROCESS)[: 2 if thorough else 1]:
        path.write_text(whole.replace(mutation.old, mutation.new), encoding="utf-8")
        by = first_failure(place, selected) if selected else None
        path.write_text(whole, encoding="utf-8")
        if by is not None:
            break
    if by is None:
        return said | {"verdict": "escaped"}
    if "::" in by and first_failure(place, [by]) is not None:
        return said | {"verdict": "unclear", "by": by}
    return said | {"verdict": "found", "by": by}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=29)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--skip", type=int, default=0, help="leave out the first, judged before")
    parser.add_argument("--thorough", action="store_true", help="run all tests before one escapes")
    parser.add_argument("--list", action="store_true", help="name the mutations, and run nothing")
    asked = parser.parse_args()
    every = mutations()
    drawn = random.Random(asked.seed).sample(every, len(every))[asked.skip :][: asked.count]
    if asked.list:
        for mutation in drawn:
            print(mutation.file, mutation.new.strip(), sep=": ")
        return
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    verdicts = []
    with scratch() as place:
        for mutation in drawn:
            verdicts.append(judged(place, mutation, thorough=asked.thorough))
            print(json.dumps(verdicts[-1], ensure_ascii=False), flush=True)
    counts = {
        verdict: sum(one["verdict"] == verdict for one in verdicts)
        for verdict in ("found", "escaped", "unclear", "stale")
    }
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
