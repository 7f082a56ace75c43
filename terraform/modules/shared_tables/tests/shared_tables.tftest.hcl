mock_provider "aws" {
  mock_data "aws_caller_identity" {
    defaults = { account_id = "444455556666" }
  }
  mock_data "aws_glue_catalog_table" {
    defaults = { storage_descriptor = [{ location = "s3://cordata-fraud-raw-eu-central-1/transactions" }] }
  }
}

variables {
  tables = { "fraud_raw.transactions" = { finance = "666677778888", marketing = "777788889999" } }
}

run "each_reader_may_read_and_pass_that_on" {
  assert {
    condition = { for key, grant in aws_lakeformation_permissions.this : key => [grant.principal, grant.table[0].database_name, grant.table[0].name] } == {
      "fraud_raw.transactions/finance"   = ["666677778888", "fraud_raw", "transactions"]
      "fraud_raw.transactions/marketing" = ["777788889999", "fraud_raw", "transactions"]
    }
    error_message = "a grant a reader"
  }

  assert {
    condition = alltrue([for grant in aws_lakeformation_permissions.this :
      toset(grant.permissions) == toset(["DESCRIBE", "SELECT"]) && toset(grant.permissions_with_grant_option) == toset(["DESCRIBE", "SELECT"])
    ])
    error_message = "reading, and nothing else"
  }
}

run "a_reader_learns_whose_table_it_is_and_where_it_lies" {
  assert {
    condition = output.tables == {
      "fraud_raw.transactions" = {
        account  = "444455556666"
        database = "fraud_raw"
        table    = "transactions"
        location = "s3://cordata-fraud-raw-eu-central-1/transactions"
      }
    }
    error_message = "the owner's account, database and table, and the location"
  }
}

run "a_table_without_its_database_is_refused" {
  command = plan
  variables {
    tables = { transactions = { finance = "666677778888" } }
  }
  expect_failures = [var.tables]
}

run "an_account_that_lost_its_zero_is_refused" {
  command = plan
  variables {
    tables = { "fraud_raw.transactions" = { finance = "66667777888" } }
  }
  expect_failures = [var.tables]
}

run "a_share_without_a_reader_is_refused" {
  command = plan
  variables {
    tables = { "fraud_raw.transactions" = {} }
  }
  expect_failures = [var.tables]
}
