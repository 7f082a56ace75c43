mock_provider "aws" {
  mock_data "aws_caller_identity" {
    defaults = { account_id = "555566667777" }
  }
  mock_data "aws_partition" {
    defaults = { partition = "aws" }
  }
  mock_data "aws_region" {
    defaults = { name = "eu-central-1" }
  }
  mock_resource "aws_dms_replication_task" {
    defaults = { replication_task_arn = "arn:aws:dms:eu-central-1:555566667777:task:CLAIMS" }
  }
  mock_resource "aws_s3_bucket" {
    defaults = { arn = "arn:aws:s3:::cordata-policy-raw-eu-central-1" }
  }
  mock_resource "aws_iam_role" {
    defaults = { arn = "arn:aws:iam::555566667777:role/some" }
  }
  mock_resource "aws_dms_replication_instance" {
    defaults = { replication_instance_arn = "arn:aws:dms:eu-central-1:555566667777:rep:INSTANCE" }
  }
  mock_resource "aws_dms_endpoint" {
    defaults = { endpoint_arn = "arn:aws:dms:eu-central-1:555566667777:endpoint:SOURCE" }
  }
  mock_resource "aws_dms_s3_endpoint" {
    defaults = { endpoint_arn = "arn:aws:dms:eu-central-1:555566667777:endpoint:LANDING" }
  }
  mock_data "aws_iam_policy_document" {
    defaults = { json = "{}" }
  }
}

variables {
  domain                = "policy"
  landing_bucket_name   = "cordata-policy-raw-eu-central-1"
  database              = "policy_raw"
  governance_catalog_id = "222233334444"
  kms_key_arn           = "arn:aws:kms:eu-central-1:555566667777:key/0000"
  subnet_ids            = ["subnet-1", "subnet-2"]
  security_group_ids    = ["sg-1"]
  source_system = {
    engine        = "aurora-postgresql"
    database_name = "claims"
    secret_arn    = "arn:aws:secretsmanager:eu-central-1:555566667777:secret:claims-reader"
  }
  tables = {
    claims = {
      schema       = "public"
      table        = "claims"
      columns      = [{ name = "claim_id", type = "string" }, { name = "amount", type = "decimal(12,2)" }]
      primary_keys = ["claim_id"]
      lf_tags      = { sensitivity = "high", residency = "eu" }
    }
  }
}

run "a_landing_table_says_what_its_changes_are_collapsed_by" {
  assert {
    condition     = aws_glue_catalog_table.this["claims"].parameters["cordata.primary_keys"] == "claim_id"
    error_message = "the reader takes the keys from here"
  }

  assert {
    condition     = aws_glue_catalog_table.this["claims"].parameters["cordata.cdc_sequence"] == "cdc_sequence"
    error_message = "and the order of changes"
  }

  assert {
    condition     = [for column in aws_glue_catalog_table.this["claims"].storage_descriptor[0].columns : column.name] == ["claim_id", "amount"]
    error_message = "the source's columns; what the replication adds is no column of the table"
  }

  assert {
    condition     = length(aws_lakeformation_resource_lf_tag.this) == 2
    error_message = "each tag is set on its own, so that others' stay"
  }

  assert {
    condition     = aws_lakeformation_resource.landing.hybrid_access_enabled
    error_message = "jobs read with their own rights too"
  }
}

run "the_replication_carries_the_sources_order_of_changes" {
  assert {
    condition     = jsondecode(aws_dms_replication_task.this.table_mappings).rules[1].expression == "$AR_H_CHANGE_SEQ"
    error_message = "a sequence column for each table"
  }

  assert {
    condition     = aws_dms_s3_endpoint.landing.timestamp_column_name == "cdc_commit_ts" && aws_dms_s3_endpoint.landing.include_op_for_full_load
    error_message = "with the commit's time, and op in every file"
  }

  assert {
    condition     = !aws_dms_replication_instance.this.publicly_accessible && aws_dms_endpoint.source.ssl_mode == "require"
    error_message = "nothing crosses the internet in the clear"
  }

  assert {
    condition     = !aws_dms_replication_task.this.start_replication_task
    error_message = "applying moves no data"
  }
}

run "files_are_kept_unless_a_retention_is_given" {
  assert {
    condition     = length(aws_s3_bucket_lifecycle_configuration.landing) == 0
    error_message = "no retention, no rule"
  }
}

run "landed_files_are_reached_over_tls_only_and_reads_are_written_down" {
  variables {
    access_log_bucket = "cordata-access-logs"
  }

  assert {
    condition     = one([for statement in data.aws_iam_policy_document.bucket.statement : one(statement.condition).variable if statement.effect == "Deny"]) == "aws:SecureTransport"
    error_message = "plain HTTP is refused"
  }

  assert {
    condition     = aws_s3_bucket_logging.landing[0].target_prefix == "${aws_s3_bucket.landing.id}/"
    error_message = "under the bucket's own name"
  }
}

run "nobody_tells_of_the_replication_unless_it_is_said_who" {
  assert {
    condition     = length(aws_iam_role.ingest) == 0 && output.ingest_role_arn == null
    error_message = "no role that nobody asked for"
  }
}

run "who_tells_of_the_replication_starts_this_task_and_reads_no_row" {
  variables {
    ingest = {
      evidence                 = "s3://cordata-policy-pipelines/evidence"
      lineage_invoker_role_arn = "arn:aws:iam::222233334444:role/cordata-policy-lineage"
      role_arns                = ["arn:aws:iam::555566667777:role/cordata-policy-scheduler"]
    }
  }

  assert {
    condition     = one([for statement in data.aws_iam_policy_document.ingest["this"].statement : statement.resources if contains(statement.actions, "dms:StartReplicationTask")]) == toset(["arn:aws:dms:eu-central-1:555566667777:task:CLAIMS"])
    error_message = "its own task"
  }

  assert {
    condition     = !anytrue([for statement in data.aws_iam_policy_document.ingest["this"].statement : contains(statement.actions, "dms:StopReplicationTask")])
    error_message = "stopping is asked for by its own word"
  }

  assert {
    condition = one([for statement in data.aws_iam_policy_document.ingest["this"].statement : statement.resources if contains(statement.actions, "glue:UpdateTable")]) == toset([
      "arn:aws:glue:eu-central-1:555566667777:catalog",
      "arn:aws:glue:eu-central-1:555566667777:database/policy_raw",
      "arn:aws:glue:eu-central-1:555566667777:table/policy_raw/claims",
    ])
    error_message = "the landing tables' own Parameters"
  }

  assert {
    condition     = !anytrue([for statement in data.aws_iam_policy_document.ingest["this"].statement : anytrue([for resource in statement.resources : startswith(resource, "arn:aws:s3:::cordata-policy-raw")])])
    error_message = "nothing of what was landed"
  }

  assert {
    condition     = join(",", aws_lakeformation_permissions.ingest_table["claims"].permissions) == "ALTER,DESCRIBE"
    error_message = "nor through Lake Formation"
  }

  assert {
    condition = [for statement in data.aws_iam_policy_document.ingest_trust["this"].statement : [one(statement.principals).identifiers, one(statement.condition).values]] == [
      [toset(["arn:aws:iam::555566667777:root"]), tolist(["arn:aws:iam::555566667777:role/cordata-policy-scheduler"])],
    ]
    error_message = "the domain's scheduler, and nobody else of the account"
  }
}

run "a_service_runs_it_for_this_account_only" {
  variables {
    ingest = {
      evidence          = "s3://cordata-policy-pipelines/evidence"
      evidence_key_arns = ["arn:aws:kms:eu-central-1:555566667777:key/1"]
      services          = ["ecs-tasks.amazonaws.com"]
      may_stop          = true
    }
  }

  assert {
    condition = [for statement in data.aws_iam_policy_document.ingest_trust["this"].statement : [one(statement.principals).identifiers, one(statement.condition).values]] == [
      [toset(["ecs-tasks.amazonaws.com"]), tolist(["555566667777"])],
    ]
    error_message = "not for whoever else asks that service"
  }

  assert {
    condition     = one([for statement in data.aws_iam_policy_document.ingest["this"].statement : statement.resources if contains(statement.actions, "dms:StopReplicationTask")]) == toset(["arn:aws:dms:eu-central-1:555566667777:task:CLAIMS"])
    error_message = "it may stop its own task"
  }

  assert {
    condition     = one([for statement in data.aws_iam_policy_document.ingest["this"].statement : statement.resources if statement.sid == "Keys"]) == toset(["arn:aws:kms:eu-central-1:555566667777:key/1"])
    error_message = "the evidence's key"
  }

  assert {
    condition     = !anytrue([for statement in data.aws_iam_policy_document.ingest["this"].statement : statement.sid == "SignLineage"])
    error_message = "without a role that signs there is nothing to assume"
  }
}

run "a_role_that_nobody_may_assume_is_refused" {
  command = plan
  variables {
    ingest = { evidence = "s3://cordata-policy-pipelines/evidence" }
  }
  expect_failures = [var.ingest]
}

run "a_whole_account_may_not_tell_of_the_replication" {
  command = plan
  variables {
    ingest = { evidence = "s3://cordata-policy-pipelines/evidence", role_arns = ["arn:aws:iam::555566667777:root"] }
  }
  expect_failures = [var.ingest]
}

run "evidence_elsewhere_than_in_s3_is_refused" {
  command = plan
  variables {
    ingest = { evidence = "/var/evidence", services = ["ecs-tasks.amazonaws.com"] }
  }
  expect_failures = [var.ingest]
}

run "a_service_of_nobodys_is_refused" {
  command = plan
  variables {
    ingest = { evidence = "s3://cordata-policy-pipelines/evidence", services = ["*"] }
  }
  expect_failures = [var.ingest]
}

run "a_table_without_keys_is_refused" {
  command = plan
  variables {
    tables = { claims = { schema = "public", table = "claims", columns = [{ name = "a", type = "string" }], primary_keys = [] } }
  }
  expect_failures = [var.tables]
}

run "a_key_that_is_no_column_is_refused" {
  command = plan
  variables {
    tables = { claims = { schema = "public", table = "claims", columns = [{ name = "a", type = "string" }], primary_keys = ["b"] } }
  }
  expect_failures = [var.tables]
}

run "a_source_column_named_like_a_change_column_is_refused" {
  command = plan
  variables {
    tables = { claims = { schema = "public", table = "claims", columns = [{ name = "op", type = "string" }], primary_keys = ["op"] } }
  }
  expect_failures = [var.tables]
}

run "a_password_where_a_secret_belongs_is_refused" {
  command = plan
  variables {
    source_system = { engine = "postgres", database_name = "claims", secret_arn = "hunter2" }
  }
  expect_failures = [var.source_system]
}

run "an_unencrypted_source_is_refused" {
  command = plan
  variables {
    source_system = { engine = "postgres", database_name = "claims", secret_arn = "arn:aws:secretsmanager:eu-central-1:555566667777:secret:x", ssl_mode = "none" }
  }
  expect_failures = [var.source_system]
}

run "one_subnet_is_refused" {
  command = plan
  variables {
    subnet_ids = ["subnet-1"]
  }
  expect_failures = [var.subnet_ids]
}
