"""Where a table may live."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline_runtime.descriptor.location import location_problem


@pytest.mark.parametrize(
    "location",
    [
        "s3://cordata-fraud-curated-eu-central-1/transactions_scored/",
        "s3://bucket/table",
        "s3://my.bucket.name/a/b=1/c-d.e_f+g,h@i!/",
    ],
)
def test_a_prefix_below_a_bucket_is_a_location(location):
    assert location_problem(location) is None


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("", "is empty"),
        ("bucket/table", "'bucket/table' is not an s3:// location"),
        ("s3a://bucket/table", "'s3a://bucket/table' is not an s3:// location"),
        ("S3://bucket/table", "'S3://bucket/table' is not an s3:// location"),
        ("file:///tmp/table", "'file:///tmp/table' is not an s3:// location"),
        ("s3://", "'' cannot be the name of a bucket"),
        ("s3:///table", "'' cannot be the name of a bucket"),
        ("s3://Bucket/table", "'Bucket' cannot be the name of a bucket"),
        ("s3://key:secret@bucket/table", "'key:secret@bucket' cannot be the name of a bucket"),
        ("s3://../bucket/table", "'..' cannot be the name of a bucket"),
        ("s3://bucket", "s3://bucket/ is the root of a bucket"),
        ("s3://bucket/", "s3://bucket/ is the root of a bucket"),
        ("s3://bucket//", "s3://bucket/ is the root of a bucket"),
        ("s3://bucket/a/../b", "climbs with '.' or '..'"),
        ("s3://bucket/..", "climbs with '.' or '..'"),
        ("s3://bucket/./a", "climbs with '.' or '..'"),
        ("s3://bucket/a//b", "holds an empty folder ('//')"),
        ("s3://bucket/a/*", "holds '*'; use letters, digits"),
        ("s3://bucket/{a,b}", "holds '{' '}'; use letters, digits"),
        ("s3://bucket/a b", "holds ' '; use letters, digits"),
        ("s3://bucket/a\n", "holds '\\n'; use letters, digits"),
        ("s3://bucket/\u00e9", "holds '\\xe9'; use letters, digits"),
        ("s3://bucket/%2e%2e/a", "holds '%'; use letters, digits"),
    ],
)
def test_what_could_mean_more_than_one_tables_own_prefix_is_refused(location, expected):
    problem = location_problem(location)
    assert problem is not None
    assert problem.startswith(expected)


@given(rest=st.text(alphabet="ab./*%- \n", max_size=12))
def test_an_accepted_location_never_leaves_its_bucket_or_means_all_of_it(rest):
    if location_problem(f"s3://bucket/{rest}") is None:
        folders = rest.strip("/").split("/")
        assert folders[0]
        assert not {"", ".", ".."} & set(folders)
        assert not set("*% \n") & set(rest)
