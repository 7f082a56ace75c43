"""Thousands of made-up tables, changed and logged as DMS would: the log leaves what the table holds."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from pipeline_runtime.readers.cdc import collapse_cdc

pytestmark = pytest.mark.spark

LOGS = 3000
COLUMNS = (
    "log int, region string, id int, v int, Op string, ts string, seq string, "
    "BI_log int, BI_region string, BI_id int, file string, row bigint"
)
MIDNIGHT = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass
class Table:
    """A source table with DMS behind it: every change happens here and is written to the log.

    Rows are keyed by (region, id). The clock often stands still, so that many changes share a timestamp.
    """

    log: int
    dice: random.Random
    held: dict[tuple[str, int], int] = field(default_factory=dict)
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    tick: int = 0
    change: int = 0
    file: int = 0
    row: int = 0

    def change_something(self) -> None:
        key = (self.dice.choice("ab"), self.dice.randrange(3))
        self.change += 1
        self.tick += self.dice.choice((0, 0, 1, 9))
        if key not in self.held:
            self.held[key] = self.change
            self._write("I", key)
        elif self.dice.random() < 0.3:
            del self.held[key]
            self._write("D", key)
        else:
            self._update(key)

    def load(self) -> None:
        """A full load reads the table as it is at some moment; its stamp is later than many a change."""
        for count, ((region, id_), value) in enumerate(self.dice.sample(sorted(self.held.items()), len(self.held))):
            file = f"s3://lake/LOAD{count % 2 + 9:08X}.parquet"
            op = self.dice.choice((None, None, "I"))
            stamp = self._time(self.tick + 5) if op else None
            self.rows.append((self.log, region, id_, value, op, stamp, None, None, None, None, file, count))

    def _update(self, key: tuple[str, int]) -> None:
        moved = (key[0], self.dice.randrange(3)) if self.dice.random() < 0.3 else key
        if moved != key and moved in self.held:
            moved = key
        del self.held[key]
        self.held[moved] = self.change
        self._write("U", moved, before=key)

    def _write(self, op: str, key: tuple[str, int], before: tuple[str, int] | None = None) -> None:
        if self.dice.random() < 0.3:
            self.file, self.row = self.file + 1, 0
        # Folders by date in the order day, month, year, as DMS can be told: their order is not time's.
        folder = f"s3://lake/{30 - self.file % 28:02d}{self.file % 12 + 1:02d}2024"
        file = f"{folder}/20240101-{100000000 + self.file}.parquet"
        value = None if op == "D" and self.dice.random() < 0.5 else self.change
        image = (self.log, *before) if before else (None, None, None)
        sequence = f"{self.change:0{self.dice.choice((1, 6))}d}"
        self.rows.append((self.log, *key, value, op, self._time(self.tick), sequence, *image, file, self.row))
        self.row += 1

    def _time(self, tick: int) -> str:
        """The same moment in one of the spellings that a log mixes."""
        at = MIDNIGHT + timedelta(milliseconds=100 * tick)
        short = at.strftime("%Y-%m-%d %H:%M:%S") + f".{at.microsecond // 100_000}"
        return self.dice.choice((short, short + "00000", short.replace(" ", "T") + "Z"))


def tables() -> list[Table]:
    made = []
    for log in range(LOGS):
        dice = random.Random(log)
        table = Table(log, dice)
        before, during = dice.randrange(4), dice.randrange(4)
        for _ in range(before):
            table.change_something()
        # DMS starts to log, then loads, while the table goes on: the load holds part of what the log repeats.
        table.rows.clear()
        for _ in range(during):
            table.change_something()
        table.load()
        for _ in range(dice.randrange(12)):
            table.change_something()
        made.append(table)
    return made


ORDERS = {
    "files alone": {"position": ("file", "row")},
    "timestamp, then files": {"timestamp": "ts", "position": ("file", "row")},
    "timestamp, then sequence": {"timestamp": "ts", "sequence": "seq"},
    "sequence alone": {"sequence": "seq"},
}


@pytest.fixture(scope="module")
def logged(spark: Any) -> Any:
    """Every log in one frame, shuffled, and what each table holds in the end."""
    made = tables()
    rows = [row for table in made for row in table.rows]
    random.Random("shuffled").shuffle(rows)
    frame = spark.createDataFrame(rows, COLUMNS).cache()
    yield frame, {(table.log, *key, value) for table in made for key, value in table.held.items()}
    frame.unpersist()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("partitions", [1, 7])
def test_the_log_leaves_what_the_table_holds_however_it_is_partitioned(
    logged: Any, order: str, partitions: int
) -> None:
    from pyspark.sql import functions

    frame, held = logged
    told = ORDERS[order]
    if "position" not in told:
        # Then nothing but a missing Op tells a full load from a change.
        op = functions.when(functions.col("seq").isNotNull(), functions.col("Op"))
        frame = frame.withColumn("Op", op).drop("file", "row")
    shuffled = frame.repartition(partitions, "v")
    left = collapse_cdc(shuffled, keys=["log", "region", "id"], before_prefix="BI_", **told)
    business = ["log", "region", "id", "v"]
    found = [tuple(row) for row in left.select(business).collect()]
    assert len(found) == len(set(found))
    assert set(found) == held
    assert len(held) > LOGS
