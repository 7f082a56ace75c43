"""What IAM asks about a request to S3."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote
from xml.sax.saxutils import unescape

from sandbox.fakes.authorisation.request import Asked, Call

__all__ = ["asked_of_s3", "listing_of_missing"]

#: Of a bucket: query parameter -> action, by method.
_OF_BUCKETS: Mapping[str, Mapping[str, str]] = {
    "GET": {
        "location": "GetBucketLocation",
        "versioning": "GetBucketVersioning",
        "policy": "GetBucketPolicy",
        "tagging": "GetBucketTagging",
        "uploads": "ListBucketMultipartUploads",
        "versions": "ListBucketVersions",
    },
    "PUT": {"policy": "PutBucketPolicy", "tagging": "PutBucketTagging"},
    "DELETE": {"policy": "DeleteBucketPolicy"},
}
#: Of an object, likewise.
_OF_OBJECTS: Mapping[str, Mapping[str, str]] = {
    "GET": {
        "tagging": "GetObjectTagging",
        "acl": "GetObjectAcl",
        "uploadId": "ListMultipartUploadParts",
        "versionId": "GetObjectVersion",
    },
    "PUT": {"tagging": "PutObjectTagging", "acl": "PutObjectAcl"},
    "DELETE": {
        "tagging": "DeleteObjectTagging",
        "uploadId": "AbortMultipartUpload",
        "versionId": "DeleteObjectVersion",
    },
}
_WHOLE_BUCKETS = {"GET": "ListBucket", "HEAD": "ListBucket", "PUT": "CreateBucket", "DELETE": "DeleteBucket"}
_WHOLE_OBJECTS = {
    "GET": "GetObject",
    "HEAD": "GetObject",
    "PUT": "PutObject",
    "POST": "PutObject",
    "DELETE": "DeleteObject",
}
_KEY = re.compile(r"<Key>(.*?)</Key>", re.DOTALL)


def asked_of_s3(call: Call) -> Iterator[Asked]:
    """Restores: HEAD is a GetObject or a ListBucket; tags that come with an object ask for PutObjectTagging as well; a
    copy asks for reading its source; a deletion of many keys asks for each; listing carries `s3:prefix`.

    moto names actions that AWS does not have (HeadBucket), and asks about the bucket where many keys are deleted.
    A deletion of which a part is not allowed is refused as a whole; AWS deletes the other part.
    """
    bucket, _, key = call.path.partition("/")
    if not bucket:
        yield Asked("s3:ListAllMyBuckets")
    elif key:
        yield from _of_object(call, bucket, key)
    elif call.method == "POST" and "delete" in call.query:
        for named in _KEY.findall(call.body.decode()):
            yield Asked("s3:DeleteObject", _arn(bucket, unescape(named)))
    else:
        yield _of_bucket(call, bucket)


def listing_of_missing(call: Call) -> Asked | None:
    """Restores: that an object is not there is told to whoever may list it; others are refused like everywhere else.

    IAM is asked for ListBucket with the key as `s3:prefix`. None for what reads no object.
    """
    bucket, _, key = call.path.partition("/")
    if not key or call.method not in ("GET", "HEAD"):
        return None
    return Asked("s3:ListBucket", _arn(bucket), {"s3:prefix": key})


def _of_bucket(call: Call, bucket: str) -> Asked:
    named = _OF_BUCKETS.get(call.method, {})
    action = next((named[part] for part in call.query if part in named), _WHOLE_BUCKETS.get(call.method, "PutObject"))
    context = {"s3:prefix": call.query["prefix"]} if "prefix" in call.query else {}
    return Asked(f"s3:{action}", _arn(bucket), context)


def _of_object(call: Call, bucket: str, key: str) -> Iterator[Asked]:
    named = _OF_OBJECTS.get(call.method, {})
    action = next((named[part] for part in call.query if part in named), _WHOLE_OBJECTS[call.method])
    yield Asked(f"s3:{action}", _arn(bucket, key))
    if call.header("x-amz-tagging") and action == "PutObject":
        yield Asked("s3:PutObjectTagging", _arn(bucket, key))
    source = call.header("x-amz-copy-source")
    if source is not None:
        from_bucket, _, from_key = unquote(source.partition("?")[0]).lstrip("/").partition("/")
        yield Asked("s3:GetObject", _arn(from_bucket, from_key))


def _arn(bucket: str, key: str | None = None) -> str:
    return f"arn:aws:s3:::{bucket}" + (f"/{key}" if key is not None else "")
