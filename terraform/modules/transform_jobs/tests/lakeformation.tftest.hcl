mock_provider "aws" {
  source = "./tests/mocks"
}

variables {
  domain                = "fraud"
  repository_root       = "../../.."
  artefact_location     = "s3://cordata-artifacts/pipeline-runtime"
  executor_version      = "0.1.0"
  bucket_name           = "cordata-fraud-pipelines"
  lineage_url           = "https://lineage-adapter.cordata.example/lineage"
  governance_catalog_id = "222233334444"
  closer_role_arn       = "arn:aws:iam::222233334444:role/cordata-fraud-closer-function"
  transform_jobs = [
    { name = "transactions_scored_daily", descriptor = "domains/fraud/pipelines/transactions_scored.yml" },
  ]
}

run "a_job_reads_its_source_and_makes_its_target" {
  assert {
    condition = { for key, grant in aws_lakeformation_permissions.database : key => tolist(grant.permissions) } == {
      "transactions_scored_daily/fraud_raw"     = tolist(["DESCRIBE"])
      "transactions_scored_daily/fraud_curated" = tolist(["CREATE_TABLE", "DESCRIBE"])
    }
    error_message = "the source's database is described, the target's gains a table"
  }

  assert {
    condition     = { for key, grant in aws_lakeformation_permissions.source : key => tolist(grant.permissions) } == { "transactions_scored_daily/fraud_raw.transactions" = tolist(["DESCRIBE", "SELECT"]) }
    error_message = "the source is read, and only the source"
  }

  assert {
    condition     = length(aws_lakeformation_permissions.target) + length(aws_lakeformation_permissions.closer) + length(aws_lakeformation_permissions.location) == 0
    error_message = "what the job makes is its own, and nothing is registered"
  }
}

run "it_may_attach_the_tags_of_its_contract_from_governances_catalog_and_no_other_value" {
  assert {
    condition = { for key, grant in aws_lakeformation_permissions.tag : key => [grant.lf_tag[0].catalog_id, grant.lf_tag[0].key, one(grant.lf_tag[0].values)] } == {
      "transactions_scored_daily/sensitivity"  = ["222233334444", "sensitivity", "high"]
      "transactions_scored_daily/residency"    = ["222233334444", "residency", "eu"]
      "transactions_scored_daily/subject_type" = ["222233334444", "subject_type", "customer"]
    }
    error_message = "one value a key"
  }

  assert {
    condition     = alltrue([for grant in aws_lakeformation_permissions.tag : toset(grant.permissions) == toset(["ASSOCIATE", "DESCRIBE"])])
    error_message = "seen and attached, not changed"
  }
}

run "without_a_governance_account_the_tags_are_the_domains_own" {
  variables {
    governance_catalog_id = null
  }

  assert {
    condition     = alltrue([for grant in aws_lakeformation_permissions.tag : grant.lf_tag[0].catalog_id == "444455556666"])
    error_message = "the own catalog"
  }
}

run "a_database_that_holds_source_and_target_gets_one_grant" {
  variables {
    domain         = "policy"
    transform_jobs = [{ name = "claims", descriptor = "domains/policy/pipelines/claims_ingest.yml" }]
  }

  assert {
    condition     = { for key, grant in aws_lakeformation_permissions.database : key => tolist(grant.permissions) } == { "claims/policy_raw" = tolist(["CREATE_TABLE", "DESCRIBE"]) }
    error_message = "with both permissions"
  }
}

run "a_source_of_another_account_is_read_there_and_its_link_described_here" {
  variables {
    domain          = "finance"
    transform_jobs  = [{ name = "settlement", descriptor = "domains/finance/pipelines/merchant_settlement_daily.yml" }]
    foreign_sources = { "fraud_raw.transactions" = { account = "777788889999", database = "fraud_raw", table = "transactions" } }
  }

  assert {
    condition = { for key, grant in aws_lakeformation_permissions.source : key => [grant.table[0].catalog_id, join(",", sort(grant.permissions))] } == {
      "settlement/fraud_raw.transactions"              = ["444455556666", "DESCRIBE"]
      "settlement/777788889999:fraud_raw.transactions" = ["777788889999", "DESCRIBE,SELECT"]
    }
    error_message = "SELECT is the owner's table's"
  }

  assert {
    condition     = aws_lakeformation_permissions.tag["settlement/sensitivity"].lf_tag[0].values == toset(["medium"])
    error_message = "the tags of a descriptor of the second version"
  }
}

run "a_target_that_somebody_else_made_may_be_written_and_tagged" {
  variables {
    existing_targets = ["fraud_curated.transactions_scored", "fraud_curated.transactions_scored__quarantine"]
  }

  assert {
    condition     = toset(aws_lakeformation_permissions.target["transactions_scored_daily/fraud_curated.transactions_scored"].permissions_with_grant_option) == toset(["ALTER", "DELETE", "DESCRIBE", "DROP", "INSERT", "SELECT"])
    error_message = "tagging asks for all of it, with the right to pass it on"
  }

  assert {
    condition     = toset(aws_lakeformation_permissions.target["transactions_scored_daily/fraud_curated.transactions_scored__quarantine"].permissions) == toset(["ALTER", "DELETE", "DESCRIBE", "INSERT", "SELECT"])
    error_message = "a quarantine is written, not tagged"
  }

  assert {
    condition     = { for table, grant in aws_lakeformation_permissions.closer : table => tolist(grant.permissions) } == { for table in var.existing_targets : table => tolist(["DESCRIBE"]) }
    error_message = "the closer looks, and changes no Iceberg table"
  }
}

run "the_closer_may_finish_a_parquet_publish" {
  variables {
    domain           = "policy"
    transform_jobs   = [{ name = "claims", descriptor = "domains/policy/pipelines/claims_ingest.yml" }]
    existing_targets = ["policy_raw.claims_deduped", "policy_raw.claims_deduped__quarantine"]
  }

  assert {
    condition = { for table, grant in aws_lakeformation_permissions.closer : table => join(",", grant.permissions) } == {
      "policy_raw.claims_deduped"             = "ALTER,DESCRIBE"
      "policy_raw.claims_deduped__quarantine" = "DESCRIBE"
    }
    error_message = "of the target, not of its quarantine"
  }
}

run "a_registered_location_is_opened_at_the_targets_prefix_only" {
  variables {
    registered_locations = ["s3://cordata-fraud-curated-eu-central-1", "s3://cordata-fraud-raw-eu-central-1/"]
  }

  assert {
    condition = toset([for grant in aws_lakeformation_permissions.location : grant.data_location[0].arn]) == toset([
      "arn:aws:s3:::cordata-fraud-curated-eu-central-1/transactions_scored",
      "arn:aws:s3:::cordata-fraud-curated-eu-central-1/transactions_scored__quarantine",
    ])
    error_message = "the target's and its quarantine's"
  }
}

run "a_location_elsewhere_is_not_opened" {
  variables {
    registered_locations = ["s3://cordata-fraud-curated-eu-central-1/transactions"]
  }

  assert {
    condition     = length(aws_lakeformation_permissions.location) == 0
    error_message = "a prefix ends at a slash"
  }
}

run "a_table_that_is_no_target_is_refused" {
  command = plan
  variables {
    existing_targets = ["fraud_raw.transactions"]
  }
  expect_failures = [var.existing_targets]
}

run "a_location_that_is_no_address_is_refused" {
  command = plan
  variables {
    registered_locations = ["arn:aws:s3:::bucket"]
  }
  expect_failures = [var.registered_locations]
}
