"""What the client can ask beside copies: people, agreements, jobs, methods that keep nothing."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import cornerwave
from cornerwave.transport.progress import silent
from tests.client.people_table import people


def test_a_grant_lets_its_recipient_have_its_level_and_no_other(
    cw: cornerwave.Client, admin: cornerwave.Client
) -> None:
    dataset = cw.register(people(seed=60), name="people")
    dataset.level("partner", privacy=0.2)
    dataset.level("public", privacy=0.6)
    newspaper = admin.create_principal(f"newspaper-{cw.url[-5:]}")
    dataset.grant(newspaper.id, "public", columns=["income", "city"])
    assert [grant.level for grant in dataset.grants()] == ["public"]
    dataset.copy("partner")
    with cornerwave.connect(cw.url, newspaper.key, progress=silent) as reader:
        found = reader.dataset("people")
        assert found.copy("public").to_arrow().column_names == ["income", "city"]
        with pytest.raises((cornerwave.Forbidden, cornerwave.NotFound)):
            found.copy("partner")
    dataset.withdraw(newspaper.id)
    assert dataset.grants() == []
    again = admin.rotate_key(newspaper.id)
    assert again.key != newspaper.key
    keys = admin.principal(newspaper.id).keys
    admin.revoke_key(newspaper.id, keys[0])
    assert len(admin.principal(newspaper.id).keys) == len(keys) - 1
    did = f"did:web:newspaper-{cw.url[-5:]}.example"
    assert admin.name_participant(newspaper.id, did).id == newspaper.id
    assert admin.name_participant(newspaper.id, None).id == newspaper.id
    assert cw.transfers() == []
    with pytest.raises(cornerwave.NotFound):
        cw.answer_transfer("tp_none", "suspend", reason="a question")
    admin.revoke_principal(newspaper.id)
    assert newspaper.id in {each.id for each in admin.principals()}
    assert admin.audit_log(most=3)[0].sequence == 1


def test_rows_are_added_and_retired(cw: cornerwave.Client) -> None:
    dataset = cw.register(people(seed=61), name="people", key_column="person")
    dataset.level("partner", privacy=0.2)
    dataset.copies(["partner"])
    appended = dataset.append(people(400, seed=62))
    assert (appended.first_row, appended.appended) == (500, 400)
    assert dataset.retire(keys=["p-61-3", "p-61-4"]).retired_now == 2
    assert dataset.refresh().retired_rows == 2
    assert dataset.copy("partner").to_arrow().num_rows == 898
    assert [entry.sequence for entry in dataset.history()] == [1]
    with pytest.raises(cornerwave.Conflict):
        dataset.set_columns({"age": "categorical"})


def test_an_audit_says_what_is_left(cw: cornerwave.Client) -> None:
    dataset = cw.register(people(seed=63), name="people")
    dataset.level("partner", privacy=0.2)
    audit = dataset.audit(levels=["partner"])
    assert audit.findings[0].promised == pytest.approx(0.2)
    assert dataset.audits()[0].id == audit.id == dataset.read_audit(audit.id).id


def test_a_preview_shows_what_levels_would_do(
    cw: cornerwave.Client, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset = cw.register(people(seed=67), name="people")
    dataset.level("partner", privacy=0.2)
    preview = dataset.preview()
    assert preview.levels[0].privacy == pytest.approx(0.2)
    preview.show()
    assert "partner" in capsys.readouterr().out
    assert "partner" in preview._repr_html_()
    assert dataset.preview(privacies=[0.5]).levels[0].noise_variance == pytest.approx(1)
    assert dataset.history() == []


def test_an_agreement_is_negotiated_to_its_end(
    cw: cornerwave.Client, admin: cornerwave.Client
) -> None:
    dataset = cw.register(people(seed=64), name="commuters")
    dataset.level("public", privacy=0.6, offered=True)
    dataset.describe(description="Commuters, a row each.", listed=True)
    institute = admin.create_principal(f"institute-{cw.url[-5:]}")
    with cornerwave.connect(cw.url, institute.key, progress=silent) as reader:
        (listing,) = [each for each in reader.catalogue() if each.id == dataset.id]
        assert reader.listing(dataset.id) == listing
        assert [level.name for level in listing.levels] == ["public"]
        asked = reader.open_agreement(
            [{"dataset": dataset.id, "level": "public"}],
            purpose="research",
            ends_at="2099-12-31T00:00:00Z",
        )
        assert asked.state == "REQUESTED"
        with pytest.raises(cornerwave.Conflict):
            cw.answer_agreement(asked.id, "agree", version=asked.version + 1)
        assert cw.answer_agreement(asked.id, "agree", version=asked.version).state == "AGREED"
        reader.answer_agreement(asked.id, "verify")
        cw.answer_agreement(asked.id, "finalize")
        assert reader.agreement(asked.id).state == "FINALIZED"
        assert reader.dataset("commuters").copy("public").to_arrow().num_rows == 500
        record, keys = reader.agreement_record(asked.id), reader.signing_keys()
        assert cornerwave.verify_record(record, keys)["purpose"] == "research"
        with pytest.raises(cornerwave.NotVerified):
            cornerwave.verify_record(record.replace(b"research", b"resaerch"), keys)
        with pytest.raises(cornerwave.NotVerified):
            cornerwave.verify_record(record, keys.replace(b'"x":"', b'"x":"A'))
        assert reader.agreement_policy(asked.id)
        reader.answer_agreement(asked.id, "terminate", reason="done")
        assert [each.id for each in reader.agreements(state="TERMINATED")] == [asked.id]
        told = [entry["event"] for entry in reader.agreement_log(asked.id)]
        # What was delivered meanwhile stands there too.
        assert len([event for event in told if not event.startswith("deliver")]) == 5
    rule = cw.add_agreement_rule(least_privacy=0.5, longest_days=30)
    assert [each.id for each in cw.agreement_rules()] == [rule.id]
    cw.remove_agreement_rule(rule.id)
    assert cw.agreement_rules() == []
    assert {job.kind for job in cw.jobs()} <= {"request"}


def test_files_of_a_copy_are_read_without_a_key(cw: cornerwave.Client) -> None:
    dataset = cw.register(people(seed=65), name="people")
    dataset.level("partner", privacy=0.2)
    copy = dataset.copy("partner")
    (file,) = copy.files()
    assert file.url not in repr(file)
    address = file.url if "://" in file.url else f"{cw.url}{file.url}"
    assert pl.read_parquet(address).height == file.rows == 500


def test_methods_answer_with_tables_reports_and_seeds(
    cw: cornerwave.Client, tmp_path: Path
) -> None:
    frame = people(seed=66).dropna().drop(columns="person")
    numbers = frame[["age", "income"]]
    made = cw.synthesise(frame, method="hybrid", seed=5)
    assert made.seed == 5
    assert made.report is not None
    assert made.report.method == "hybrid"
    assert len(repr(made.report)) < 1_000
    assert repr(made).endswith("seed 5>")
    again = cw.synthesise(frame, method="hybrid", seed=5)
    pd.testing.assert_frame_equal(made.to_pandas(), again.to_pandas())
    assert made.to_polars().height == len(frame)
    for name in ("made.csv", "made.parquet", "made.arrow"):
        made.save(tmp_path / name)
        read_again = cw.register(tmp_path / name, name=name, allow_overlap=True)
        assert read_again.rows == len(frame)
    with pytest.raises(ValueError, match="does not end in one of"):
        made.save(tmp_path / "made.doc")
    noisy = cw.randomize(numbers, noise_variance=0.5, noise="proportional", seed=1)
    noise = {"kind": "proportional", "noise_variance": 0.5}
    scored = cw.score(numbers, noisy.to_pandas(), noise=noise, seed=1, attacks=["be-dr"])
    assert scored.attacks[0].attack == "be-dr"
    guessed = cw.reconstruct(noisy.to_pandas(), noise=noise, seed=1, attacks=["be-dr"])
    assert guessed.to_arrow().column_names == ["age", "income"]
    swapped = cw.swap(
        frame,
        confidential="city",
        bins={"age": {"equal_frequency": 5}, "income": {"equal_frequency": 5}},
        seed=1,
    )
    assert swapped.report is not None
    assert swapped.report.attributes[0].column == "city"
    kept = cw.swap(people(seed=66), confidential="city", keep="person", seed=1)
    assert "person" in kept.to_arrow().column_names
    assert cw.identifiability(
        frame,
        confidential="city",
        bins={"age": {"equal_frequency": 5}, "income": {"equal_frequency": 5}},
    ).attributes
    assert cw.utility(frame, made.to_pandas(), seed=1).quality
    assert cw.expected_leakage(100, 3).risk >= 0
    estimated = cw.estimate(
        noisy.to_pandas()["age"].tolist(), noise={"kind": "normal", "variance": 100}, bins=5
    )
    assert sum(estimated.probabilities) == pytest.approx(1)


def test_a_survey_never_sees_an_answer(cw: cornerwave.Client) -> None:
    perturbation = {"kind": "geometric", "base": 2.0}
    survey = cw.create_survey("colours", perturbation=perturbation, categories=["red", "blue"])
    said = cw.perturb(
        answers=["red"] * 20, categories=["red", "blue"], perturbation=perturbation, seed=1
    )
    assert cw.add_responses(survey.id, said.vectors).counted == 20
    assert len(cw.estimate_survey(survey.id).shares) == 2
    assert cw.survey(survey.id) == cw.surveys()[0] == survey
    cw.remove_survey(survey.id)
    assert cw.surveys() == []


def test_the_service_says_how_it_is(cw: cornerwave.Client) -> None:
    assert cw.health().version
    assert cw.readiness().status == "ready"
