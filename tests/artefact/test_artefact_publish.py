"""A release reaches its place whole or not at all, and is never replaced."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from artefact.__main__ import main
from artefact.errors import ArtefactError
from artefact.publish import publish

VERSION = "pipeline-runtime/1.2.3"


@pytest.fixture
def bucket(aws: Any) -> str:
    name = f"artefacts-{uuid.uuid4().hex[:8]}"
    aws.client("s3").create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": aws.region})
    return name


def objects(aws: Any, bucket: str) -> dict[str, bytes]:
    s3 = aws.client("s3")
    listed = s3.list_objects_v2(Bucket=bucket).get("Contents", [])
    return {each["Key"]: s3.get_object(Bucket=bucket, Key=each["Key"])["Body"].read() for each in listed}


@pytest.mark.parametrize("below", ["", "/releases", "/pipeline-runtime", "/releases/pipeline-runtime"])
def test_a_release_lies_in_a_folder_of_its_version(
    aws: Any, bucket: str, release: Callable[..., Path], below: str
) -> None:
    where = publish(release(), f"s3://{bucket}{below}", aws.client("s3"))
    prefix = f"{below.removesuffix('pipeline-runtime')}/{VERSION}".replace("//", "/").strip("/")
    assert where.prefix == f"s3://{bucket}/{prefix}"
    assert sorted(objects(aws, bucket)) == [
        f"{prefix}/{name}" for name in ("manifest.json", "pipeline_runtime-1.2.3.zip", "run_pipeline.py")
    ]


def test_the_same_release_twice_changes_nothing(aws: Any, bucket: str, release: Callable[..., Path]) -> None:
    s3, said = aws.client("s3"), []
    publish(release(), f"s3://{bucket}", s3)
    before = s3.list_objects_v2(Bucket=bucket)["Contents"]
    publish(release(), f"s3://{bucket}", s3, say=said.append)
    assert said == [f"s3://{bucket}/{VERSION} holds this release already"]
    assert s3.list_objects_v2(Bucket=bucket)["Contents"] == before


def test_another_build_of_a_published_version_is_refused(aws: Any, bucket: str, release: Callable[..., Path]) -> None:
    publish(release(), f"s3://{bucket}", aws.client("s3"))
    before = objects(aws, bucket)
    with pytest.raises(ArtefactError, match=r"is another build of 1\.2\.3; a release is never replaced"):
        publish(release("other code"), f"s3://{bucket}", aws.client("s3"))
    assert objects(aws, bucket) == before


def test_a_publish_that_was_cut_off_is_used_by_nobody_and_completed_by_the_next(
    aws: Any, bucket: str, release: Callable[..., Path]
) -> None:
    s3 = aws.client("s3")

    def cut_off(request: Any, **_: Any) -> None:
        if request.method == "PUT" and "run_pipeline" in request.url:
            raise EndpointConnectionError(endpoint_url=request.url)

    s3.meta.events.register("before-send.s3", cut_off)
    with pytest.raises(ArtefactError, match="Could not connect"):
        publish(release(), f"s3://{bucket}", s3)
    assert sorted(objects(aws, bucket)) == [f"{VERSION}/pipeline_runtime-1.2.3.zip"]

    said: list[str] = []
    publish(release(), f"s3://{bucket}", aws.client("s3"), say=said.append)
    assert said == ["pipeline_runtime-1.2.3.zip was there", "run_pipeline.py", "manifest.json"]


def test_the_rest_of_a_cut_off_publish_of_another_build_is_refused(
    aws: Any, bucket: str, release: Callable[..., Path]
) -> None:
    s3 = aws.client("s3")
    s3.put_object(Bucket=bucket, Key=f"{VERSION}/run_pipeline.py", Body=b"of another build")
    with pytest.raises(ArtefactError, match=f"{VERSION}/run_pipeline.py exists with other content; raise the version"):
        publish(release(), f"s3://{bucket}", s3)
    assert f"{VERSION}/manifest.json" not in objects(aws, bucket)


@pytest.mark.parametrize(
    ("build", "problem"),
    [({"dirty": True}, "its code differs from its commit"), ({"commit": None, "dirty": None}, "nothing tells which")],
)
def test_a_build_that_is_no_commits_is_published_only_when_asked_for(
    aws: Any, bucket: str, release: Callable[..., Path], build: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ArtefactError, match=problem):
        publish(release(**build), f"s3://{bucket}", aws.client("s3"))
    assert objects(aws, bucket) == {}
    publish(release(**build), f"s3://{bucket}", aws.client("s3"), allow_dirty=True)
    assert len(objects(aws, bucket)) == 3


@pytest.mark.parametrize("damage", ["changed", "missing"])
def test_a_release_that_is_not_what_its_manifest_says_stays_here(
    aws: Any, bucket: str, release: Callable[..., Path], damage: str
) -> None:
    folder = release()
    if damage == "changed":
        (folder / "run_pipeline.py").write_text("edited")
    else:
        (folder / "run_pipeline.py").unlink()
    with pytest.raises(ArtefactError, match=r"not what the manifest says: run_pipeline\.py; run `make artefact` again"):
        publish(folder, f"s3://{bucket}", aws.client("s3"))
    assert objects(aws, bucket) == {}


@pytest.mark.usefixtures("aws")
def test_the_command_says_in_one_line_what_is_wrong(
    tmp_path: Path, release: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["publish", "s3://no-such-bucket-here", "--from", str(tmp_path)]) == 1
    assert "holds no release; run `make artefact` first" in capsys.readouterr().err
    assert main(["publish", "no-such-place", "--from", str(release())]) == 1
    assert "'no-such-place' is no place for an artefact; write s3://bucket/prefix" in capsys.readouterr().err
    assert main(["publish", "s3://no-such-bucket-here", "--from", str(release())]) == 1
    assert capsys.readouterr().err.startswith("artefact: s3://no-such-bucket-here/pipeline-runtime/1.2.3: ")
