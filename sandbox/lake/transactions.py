"""Card transactions that look like a bank's: the same rows for the same count, on any machine.

Every value is a function of the row's number: uniform numbers come from hashing it with the column's name,
so neither a seed's order nor Spark's partitioning can change a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["COLUMNS", "FIRST_DAY", "ROWS", "create_statement", "transactions"]

#: Gives some 1.14 million settled rows.
ROWS = 1_600_000
FIRST_DAY = "2026-08-01"

#: name -> type and nullness, in the catalog's order.
COLUMNS: Mapping[str, str] = {
    "tx_id": "STRING NOT NULL COMMENT 'unique id of the transaction'",
    "account_id": "STRING NOT NULL COMMENT 'the account that was debited'",
    "iban": "STRING NOT NULL COMMENT 'its IBAN; the check digits are right, the bank does not exist'",
    "merchant_id": "STRING NOT NULL COMMENT 'who was paid'",
    "merchant_name": "STRING COMMENT 'as on the statement'",
    "country": "STRING NOT NULL COMMENT 'where the card was used, ISO 3166-1 alpha-2'",
    "channel": "STRING NOT NULL COMMENT 'pos, ecom, contactless or atm'",
    "amount": "DECIMAL(12,2) NOT NULL COMMENT 'in `currency`, above zero'",
    "currency": "STRING NOT NULL COMMENT 'ISO 4217'",
    "status": "STRING NOT NULL COMMENT 'settled, pending, declined or refunded'",
    "booked_at": "TIMESTAMP NOT NULL COMMENT 'when the card was presented'",
    "settled_at": "TIMESTAMP COMMENT 'before the cut-off of the same day; null unless settled or refunded'",
}

#: What is drawn for each row, each on its own.
_DRAWN = ("account", "merchant", "country", "channel", "status", "hour", "millis", "radius", "angle", "lag")

ACCOUNTS = 120_000
MERCHANTS = 4_000

#: How the transactions are shared out among the days: a Saturday, a Sunday, two working days.
_DAYS = (270, 205, 255, 270)
#: How many of a thousand fall into each hour: a trough at night, lunch, and the evening.
_HOURS = (9, 6, 4, 3, 4, 8, 17, 34, 46, 50, 54, 60, 70, 66, 56, 54, 58, 68, 78, 76, 64, 52, 38, 25)
_COUNTRIES = {
    "DE": 560,
    "AT": 110,
    "FR": 80,
    "NL": 60,
    "ES": 50,
    "IT": 45,
    "PL": 35,
    "CH": 20,
    "GB": 15,
    "US": 15,
    "TR": 10,
}
_CURRENCIES = {"CH": "CHF", "GB": "GBP", "US": "USD"}
_STATUSES = {"settled": 7145, "pending": 1200, "declined": 1155, "refunded": 500}
_CHANNELS = {"contactless": 480, "ecom": 300, "pos": 190, "atm": 30}
#: Median and spread of the amount, by channel: log-normal, as spending is.
_AMOUNTS = {"contactless": (14.0, 0.75), "ecom": (46.0, 1.0), "pos": (33.0, 0.9), "atm": (90.0, 0.55)}
_TRADES = (
    "Bakery",
    "Books",
    "Cafe",
    "Electronics",
    "Fashion",
    "Fuel",
    "Garden",
    "Grocery",
    "Hotel",
    "Pharmacy",
    "Rail",
    "Taxi",
)
_TOWNS = (
    "Aachen",
    "Berlin",
    "Bremen",
    "Graz",
    "Koeln",
    "Leipzig",
    "Linz",
    "Lyon",
    "Mainz",
    "Nantes",
    "Utrecht",
    "Wien",
)


def create_statement(table: str, location: str) -> str:
    """The DDL of the source table, partitioned by the day of booking; snappy, since it is quick to write."""
    columns = ",\n".join(f"  {name} {spec}" for name, spec in COLUMNS.items())
    properties = "'format-version' = '2', 'write.parquet.compression-codec' = 'snappy'"
    return (
        f"CREATE TABLE {table} (\n{columns}\n) USING iceberg PARTITIONED BY (days(booked_at)) "
        f"LOCATION '{location}' TBLPROPERTIES ({properties})"
    )


def transactions(spark: SparkSession, rows: int = ROWS, amount_factor: float = 1.0) -> DataFrame:
    """`rows` transactions over four days from FIRST_DAY, in COLUMNS' order and types; unordered.

    `amount_factor` multiplies every amount: what a currency mix-up upstream would do.
    """
    # One projection a level: Spark then computes each number once, not once for every branch that reads it.
    drawn = spark.range(rows).selectExpr("id", *(f"{_uniform(name)} AS u_{name}" for name in _DRAWN))
    chosen = drawn.selectExpr(
        "id",
        # Skew: the account and the merchant of rank r are drawn the more often the smaller r is.
        f"CAST(floor({ACCOUNTS} * pow(u_account, 1.6)) AS INT) AS account",
        f"CAST(floor({MERCHANTS} * pow(u_merchant, 2.2)) AS INT) AS merchant",
        f"{_pick(_COUNTRIES, 'u_country')} AS country",
        f"{_pick(_CHANNELS, 'u_channel')} AS channel",
        f"{_pick(_STATUSES, 'u_status')} AS status",
        # Days follow the numbers, so that a task writes one day or two.
        f"{_pick(dict(enumerate(_DAYS)), f'(id / {rows}D)')} AS day",
        f"{_pick(dict(enumerate(_HOURS)), 'u_hour')} AS hour",
        "CAST(u_millis * 3600000 AS BIGINT) AS millis",
        # Box and Muller: two uniform numbers make a normal one.
        "sqrt(-2 * ln(u_radius)) * cos(2 * pi() * u_angle) AS normal",
        "CAST(-2700000 * ln(u_lag) AS BIGINT) AS lag",
    )
    placed = chosen.selectExpr(
        "*",
        f"unix_millis(TIMESTAMP'{FIRST_DAY} 00:00:00Z') + day * 86400000L AS midnight",
        "hour * 3600000L + millis AS since_midnight",
        f"least(greatest({amount_factor}D * {_median_times_spread()}, 0.5D), 20000D) AS amount",
    )
    return placed.selectExpr(
        *(f"CAST({expression} AS {_type(name)}) AS {name}" for name, expression in _VALUES.items())
    )


def _uniform(name: str) -> str:
    """A number in (0, 1), the same for the same row and name: 48 bits of a hash, moved off both ends."""
    return f"((shiftrightunsigned(xxhash64(id, '{name}'), 16) + 0.5D) / 281474976710656D)"


def _pick(shares: Mapping[str, int] | Mapping[int, int], drawn: str) -> str:
    """One of the keys, as often as its share of the total says."""
    total, reached, branches = sum(shares.values()), 0, []
    for key, share in shares.items():
        reached += share
        branches.append(f"WHEN {drawn} < {reached / total}D THEN {key!r}")
    return f"CASE {' '.join(branches[:-1])} ELSE {[*shares][-1]!r} END"


def _median_times_spread() -> str:
    branches = (
        f"WHEN '{channel}' THEN {median}D * exp({spread}D * normal)" for channel, (median, spread) in _AMOUNTS.items()
    )
    return f"CASE channel {' '.join(branches)} END"


def _type(name: str) -> str:
    return COLUMNS[name].split()[0]


#: A German IBAN of a bank that does not exist (no bank code starts with 9), with its check digits:
#: 98 less the rest by 97 of the number that bank, account, D, E and 00 make (ISO 7064).
_BANK = 99990000
_HOLDER = "account * 7919L"
_CHECK = f"98 - ({_BANK % 97} * 10000000000000000L + {_HOLDER} * 1000000L + 131400L) % 97"


def _array(words: tuple[str, ...]) -> str:
    return f"array({', '.join(repr(word) for word in words)})"


_VALUES: Mapping[str, str] = {
    "tx_id": "concat('tx-', lpad(lower(hex(id * 2654435761)), 14, '0'))",
    "account_id": "concat('acc-', lpad(account, 6, '0'))",
    "iban": f"concat('DE', lpad({_CHECK}, 2, '0'), '{_BANK}', lpad({_HOLDER}, 10, '0'))",
    "merchant_id": "concat('M', lpad(merchant, 5, '0'))",
    # One merchant in fifty sends no name.
    "merchant_name": (
        f"CASE WHEN merchant % 50 < 49 THEN concat({_array(_TRADES)}[merchant % {len(_TRADES)}], ' ', "
        f"{_array(_TOWNS)}[CAST(merchant / 12 AS INT) % {len(_TOWNS)}], ' ', merchant) END"
    ),
    "country": "country",
    "channel": "channel",
    "amount": "amount",
    "currency": f"CASE country {' '.join(f'WHEN {k!r} THEN {v!r}' for k, v in _CURRENCIES.items())} ELSE 'EUR' END",
    "status": "status",
    "booked_at": "timestamp_millis(midnight + since_midnight)",
    "settled_at": (
        "CASE WHEN status IN ('settled', 'refunded') THEN "
        "timestamp_millis(midnight + least(since_midnight + lag, 86399000L)) END"
    ),
}
