"""Baselines: found by name inside the domain, and fit to be compared with."""

from __future__ import annotations

import pytest

KL = """\
suite_name: scores
expectations:
  - type: expect_column_kl_divergence_to_be_less_than
    kwargs: {column: score, partition_object: %s, threshold: 0.15}
"""


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("bins: [0, 1]\nweights: [0.5, 0.5]\n", ":1: 2 bin edges for 2 weights"),
        ("bins: [0, 1, 2]\nweights: [0.5, 0.4]\n", ":2: weights sum to 0.9, not to 1"),
        ("bins: [0, 2, 1]\nweights: [0.5, 0.5]\n", "bins[2] is 1, after 2; edges rise"),
        ("bins: [0, 1, 2]\nweights: [1.5, -0.5]\n", "weights[1] is -0.5; numbers from 0 to 1 are expected"),
        ("bins: [a, b]\nweights: [1]\n", "bins[0] is 'a' (text); numbers are expected"),
        ("weights: [1]\n", "either bins (numbers) or values (categories)"),
        ("bins: [0, 1]\nvalues: [a]\nweights: [1]\n", "either bins (numbers) or values (categories)"),
        ("bins: [0, 1]\n", "weights is missing; a list of numbers from 0 to 1 is expected"),
        ("bins: []\nweights: [1]\n", "bins is empty"),
        ("values: [a, a]\nweights: [0.5, 0.5]\n", "a value is given twice"),
        ("values: [a, 1]\nweights: [0.5, 0.5]\n", "values mix texts with others"),
        ("values: [a]\nweights: [0.5, 0.5]\n", "1 values for 2 weights"),
        (
            "bins: [0, 1]\nweight: [1]\n",
            ":2: weight is not known; allowed: bins, values, weights, tail_weights. Did you mean",
        ),
        ("bins: [0, 1]\nweights: [0.8]\ntail_weights: [0.2]\n", ":3: tail_weights are two shares"),
        ("bins: [-.inf, 1]\nweights: [0.8]\ntail_weights: [0.1, 0.1]\n", "infinite ones have no tails"),
        ("bins: [0, 1]\nbins: [0, 2]\nweights: [1]\n", ":2: the key bins is given twice"),
        ("bins: [0, 1\n", "is not valid YAML"),
    ],
)
def test_a_wrong_baseline_is_told_with_its_own_file_and_line(domain, text, problem):
    domain.baseline("base", text)
    problems = domain.problems(KL % "base")
    assert all(told.startswith("baselines/base.yml") for told in problems)
    assert problem in "\n".join(problems)


@pytest.mark.parametrize(
    "text",
    [
        "bins: [0, 0.5, 1]\nweights: [0.3333333, 0.6666667]\n",
        "bins: [-.inf, 0.5, .inf]\nweights: [0.5, 0.5]\n",
        "bins: [0, 1]\nweights: [0.8]\ntail_weights: [0.1, 0.1]\n",
        "values: [EUR, USD]\nweights: [0.5, 0.5]\n",
        "values: [true, false]\nweights: [0.9, 0.1]\n",
    ],
)
def test_a_sound_baseline_is_taken(domain, text):
    path = domain.baseline("base", text)
    assert domain.load(KL % "base").baseline_files == (path,)


def test_a_baseline_may_stand_in_the_suite_itself(domain):
    assert domain.load(KL % "{bins: [0, 1], weights: [1]}").baseline_files == ()
    (problem,) = domain.problems(KL % "{bins: [0, 1], weights: [0.5]}")
    assert problem.startswith("expectations/scores.yml:4: expect_column_kl_divergence_to_be_less_than: ")
    assert "weights sum to 0.5, not to 1" in problem


def test_a_missing_baseline_is_told_with_the_closest(domain):
    domain.baseline("baseline_fraud_score", "bins: [0, 1]\nweights: [1]\n")
    (problem,) = domain.problems(KL % "baseline_fraud_scor")
    assert "baselines/baseline_fraud_scor.yml does not exist" in problem
    assert "did you mean baseline_fraud_score.yml?" in problem


@pytest.mark.parametrize("name", ["../secrets", "/etc/passwd", "a/b", "''"])
def test_a_baseline_is_named_never_given_as_a_path(domain, name):
    assert any("is not a baseline's name" in problem for problem in domain.problems(KL % name))


def test_a_baseline_does_not_lead_out_of_the_domain(domain, tmp_path):
    outside = tmp_path / "outside.yml"
    outside.write_text("bins: [0, 1]\nweights: [1]\n")
    (domain.root / "baselines" / "base.yml").symlink_to(outside)
    (problem,) = domain.problems(KL % "base")
    assert "leads out of the domain" in problem


def test_one_baseline_used_twice_is_one_file(domain):
    path = domain.baseline("base", "bins: [0, 1]\nweights: [1]\n")
    kwargs = {"column": "a", "partition_object": "base", "threshold": 0.1}
    name = "expect_column_kl_divergence_to_be_less_than"
    assert domain.suite((name, kwargs), (name, {**kwargs, "column": "b"})).baseline_files == (path,)
