"""Two parquet footers say the same, whatever the order in which a JVM lists a column's encodings."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline_runtime.compare.footers import meaning

TABLE = pa.table({"id": [1, 2, 3, None], "name": ["a", "b", "b", "b"], "score": [0.5, float("nan"), 2.5, 3.5]})
#: FileMetaData.row_groups, RowGroup.columns, ColumnChunk.meta_data, ColumnMetaData.encodings.
ROW_GROUPS, COLUMNS, COLUMN, ENCODINGS = 4, 1, 3, 2


def footer(table: pa.Table = TABLE, **options: Any) -> bytes:
    """The footer of the table as a file, Thrift's compact form alone."""
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    content = sink.getvalue()
    size = int.from_bytes(content[-8:-4], "little")
    return content[-8 - size : -8]


def encodings(data: bytes) -> list[list[int]]:
    return [chunk[COLUMN][ENCODINGS] for group in meaning(data)[ROW_GROUPS] for chunk in group[COLUMNS]]


def test_all_that_a_footer_says_is_read() -> None:
    said = meaning(footer(row_group_size=2))

    assert said[1] == 2  # the format's version
    assert said[3] == 4  # rows
    assert said[6].startswith(b"parquet-cpp-arrow")
    assert len(said[ROW_GROUPS]) == 2
    assert [chunk[COLUMN][3] for chunk in said[ROW_GROUPS][0][COLUMNS]] == [[b"id"], [b"name"], [b"score"]]


def test_the_order_of_encodings_says_nothing() -> None:
    data = footer()
    (plain, *_), *_ = encodings(data)
    # PLAIN, RLE, RLE_DICTIONARY in a list of three small numbers, in zigzag.
    listed = b"\x35\x00\x06\x10"
    assert data.count(listed) == 3, encodings(data)

    swapped = data.replace(listed, b"\x35\x10\x00\x06")

    assert swapped != data
    assert meaning(swapped) == meaning(data)
    assert plain == 0


@pytest.mark.parametrize(
    ("table", "options"),
    [
        (TABLE.slice(0, 3), {}),
        (TABLE.rename_columns(["id", "name", "points"]), {}),
        (TABLE, {"compression": "gzip"}),
        (TABLE, {"use_dictionary": False}),
        (TABLE, {"row_group_size": 2}),
        (TABLE.replace_schema_metadata({"made": "by hand"}), {}),
        (TABLE.cast(pa.schema([("id", pa.int32()), ("name", pa.string()), ("score", pa.float64())])), {}),
    ],
    ids=["rows", "a name", "codec", "encodings", "row groups", "key and value", "a type"],
)
def test_everything_else_says_something(table: pa.Table, options: dict[str, Any]) -> None:
    assert meaning(footer(table, **options)) != meaning(footer())


@pytest.mark.parametrize("data", [b"", b"\x00", b"PAR1PAR1", footer()[:-20], b"\x19" * 50], ids=range(5))
def test_what_is_no_footer_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="no parquet footer"):
        meaning(data)
