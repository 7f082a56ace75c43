"""A Spark job that is not the executor's: reads dbt's table from the database and writes files.

listened_job.py <JDBC address> <user> <folder>
"""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession

url, user, folder = sys.argv[1:]
spark = SparkSession.builder.appName("merchants-by-hand").getOrCreate()
options = {
    "url": url,
    "user": user,
    "password": os.environ["LEDGER_PASSWORD"],
    "dbtable": "analytics.payments",
    "driver": "org.postgresql.Driver",
}
spark.read.format("jdbc").options(**options).load().select("id", "amount").write.parquet(folder)
spark.stop()
