"""Regular expressions: written by people who know Python's, run by Java's."""

from __future__ import annotations

import pytest

from pipeline_runtime.quality.regexes import regex_problem

USABLE = [
    r"^[A-Z]{2}[0-9]{2}[A-Z0-9]{1,30}$",
    r"^\d{4}-\d{2}-\d{2}$",
    r"(?i)^abc$",
    r"^(?:a|b)+?(?=c)(?!d)$",
    r"(?<year>\d{4})-\k<year>",
    r"^\p{Lu}\p{IsLatin}*\z",
    r"[\[\]{}]+",
    r"[]a]",
    r"[^]a]",
    r"\{literal\}",
    r"a{2}b{2,}c{2,5}",
    r"x++y*+(?>z)",
    r"\x41\u0042\t\\",
    r"[\w.+-]+@[\w-]+\.[a-z]{2,}",
]

#: Java refuses these.
JAVA_REFUSES = [
    r"(?P<year>\d{4})",
    r"(a)(?P=a)",
    r"(a)?(?(1)b|c)",
    r"a(?#comment)b",
    r"^{.*}$",
    r"x{,3}",
    r"\U00000041",
    r"[a-z",
    r"(a",
    r"*a",
    r"a\y",
    r"[\b]",
    r"\01a\0",
]

#: Java takes these and means something else.
READ_DIFFERENTLY = [r"^a\Z", r"[[:alpha:]]", r"[a&&b]", r"a\vb", r"[[a]b]", r"(a)\101"]


@pytest.mark.parametrize("regex", USABLE)
def test_a_regex_that_java_reads_as_meant_is_taken(regex):
    assert regex_problem(regex) is None


@pytest.mark.parametrize("regex", JAVA_REFUSES + READ_DIFFERENTLY)
def test_a_regex_that_java_refuses_or_reads_differently_is_refused(regex):
    assert regex_problem(regex)


@pytest.mark.parametrize(
    ("regex", "remedy"),
    [
        (r"(?P<year>\d{4})", "(?<name>"),
        (r"^a\Z", r"write \z"),
        (r"^{.*}$", r"escape it as \{"),
        (r"[[:alpha:]]", r"escape it as \["),
    ],
)
def test_the_problem_says_what_to_write_instead(regex, remedy):
    assert remedy in regex_problem(regex)


@pytest.mark.spark
def test_java_agrees_with_the_check_that_needs_no_java(spark):
    from pipeline_runtime.quality.runner import java_refuses

    jvm = spark.sparkContext._jvm
    assert [regex for regex in USABLE + READ_DIFFERENTLY if java_refuses(jvm, regex)] == []
    assert [regex for regex in JAVA_REFUSES if not java_refuses(jvm, regex)] == []
