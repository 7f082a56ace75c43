"""What a parquet footer says, without the one thing in it that is drawn by lot. Pure.

Parquet's Java library keeps the encodings of a column chunk in a hash set of enum members, whose order follows from
addresses in memory: two JVMs that write the same pages write these lists in different orders. A list of encodings says
which ones occur, so its order says nothing. The footer is read as the Thrift compact protocol has it, whatever fields
there are: https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md and, for the numbers of the
fields, https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift.
"""

from __future__ import annotations

import struct
from typing import Any

__all__ = ["meaning"]

#: FileMetaData.row_groups, RowGroup.columns, ColumnChunk.meta_data.
_ROW_GROUPS, _COLUMNS, _COLUMN = 4, 1, 3
#: ColumnMetaData.encodings.
_ENCODINGS = 2

_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12


def meaning(footer: bytes) -> Any:
    """The footer as nested values, to be compared with another; structs are dicts by field number.

    Raises ValueError for what is no footer.
    """
    try:
        found = _Reader(footer).struct()
        for group in found[_ROW_GROUPS]:
            for chunk in group[_COLUMNS]:
                chunk[_COLUMN][_ENCODINGS] = sorted(chunk[_COLUMN][_ENCODINGS])
    except (IndexError, KeyError, TypeError, struct.error) as error:
        raise ValueError(f"no parquet footer: {type(error).__name__}: {error}") from error
    return found


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def struct(self) -> dict[int, Any]:
        values: dict[int, Any] = {}
        number = 0
        while header := self._byte():
            delta, kind = header >> 4, header & 0x0F
            number = number + delta if delta else self._integer()
            # A field's truth value is its type.
            values[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind)
        return values

    def _value(self, kind: int) -> Any:
        if kind in (_TRUE, _FALSE, _BYTE):
            return self._byte()
        if kind == _DOUBLE:
            return struct.unpack("<d", self._bytes(8))[0]
        if kind == _BINARY:
            return self._bytes(self._varint())
        if kind in (_LIST, _SET):
            header = self._byte()
            size = header >> 4 if header >> 4 != 0x0F else self._varint()
            return [self._value(header & 0x0F) for _ in range(size)]
        if kind == _MAP:
            size = self._varint()
            kinds = self._byte() if size else 0
            return [(self._value(kinds >> 4), self._value(kinds & 0x0F)) for _ in range(size)]
        if kind == _STRUCT:
            return self.struct()
        return self._integer()

    def _integer(self) -> int:
        zigzag = self._varint()
        return (zigzag >> 1) ^ -(zigzag & 1)

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _bytes(self, size: int) -> bytes:
        self._at += size
        if self._at > len(self._data):
            raise IndexError("it ends too early")
        return self._data[self._at - size : self._at]
