mock_provider "aws" {
  mock_data "aws_caller_identity" {
    defaults = { account_id = "666677778888" }
  }
}

variables {
  tables = {
    "fraud_raw.transactions" = { account = "444455556666", database = "fraud_raw", table = "transactions", location = "s3://cordata-fraud-raw-eu-central-1/transactions" }
    "fraud_raw.merchants"    = { account = "444455556666", database = "card_ledger", table = "merchant", location = "s3://cordata-fraud-raw-eu-central-1/merchant" }
  }
}

run "a_link_has_its_own_name_and_leads_to_the_owners_table" {
  assert {
    condition = { for link, table in aws_glue_catalog_table.this : link => join("/", [table.target_table[0].catalog_id, table.target_table[0].database_name, table.target_table[0].name]) } == {
      "fraud_raw.transactions" = "444455556666/fraud_raw/transactions"
      "fraud_raw.merchants"    = "444455556666/card_ledger/merchant"
    }
    error_message = "account, database and table of the owner"
  }

  assert {
    condition     = toset([for database in aws_glue_catalog_database.this : database.name]) == toset(["fraud_raw"])
    error_message = "one database, once"
  }
}

run "jobs_are_told_whose_table_they_read_and_where_it_lies" {
  assert {
    condition     = output.foreign_sources["fraud_raw.merchants"] == { account = "444455556666", database = "card_ledger", table = "merchant" }
    error_message = "the owner's names"
  }

  assert {
    condition     = output.source_locations["fraud_raw.transactions"] == "s3://cordata-fraud-raw-eu-central-1/transactions"
    error_message = "the files"
  }
}

run "a_database_that_is_there_stays_whose_it_is" {
  variables {
    existing_databases = ["fraud_raw"]
  }

  assert {
    condition     = length(aws_glue_catalog_database.this) == 0
    error_message = "none is made"
  }
}

run "a_link_to_a_table_of_ones_own_is_refused" {
  command = plan
  variables {
    tables = { "finance_raw.rates" = { account = "666677778888", database = "finance_raw", table = "rates", location = "s3://cordata-finance-raw/rates" } }
  }
  expect_failures = [aws_glue_catalog_table.this]
}

run "a_link_without_its_database_is_refused" {
  command = plan
  variables {
    tables = { transactions = { account = "444455556666", database = "fraud_raw", table = "transactions", location = "s3://cordata-fraud-raw-eu-central-1/transactions" } }
  }
  expect_failures = [var.tables]
}
