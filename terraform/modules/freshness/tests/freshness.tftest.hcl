mock_provider "aws" {
  mock_data "aws_caller_identity" {
    defaults = { account_id = "444455556666" }
  }
  mock_data "aws_partition" {
    defaults = { partition = "aws" }
  }
  mock_data "aws_region" {
    defaults = { name = "eu-central-1" }
  }
  mock_data "aws_iam_policy_document" {
    defaults = { json = "{}" }
  }
  mock_resource "aws_iam_role" {
    defaults = { arn = "arn:aws:iam::444455556666:role/some" }
  }
  mock_resource "aws_lambda_function" {
    defaults = { arn = "arn:aws:lambda:eu-central-1:444455556666:function:some" }
  }
  mock_resource "aws_cloudwatch_event_rule" {
    defaults = { arn = "arn:aws:events:eu-central-1:444455556666:rule/some" }
  }
}

variables {
  domain          = "fraud"
  executor_zip    = "main.tf" # any file: it is hashed, not unpacked
  repository_root = "../../.."
  descriptors     = ["domains/fraud/pipelines/transactions_scored.yml"]
  evidence        = "s3://cordata-fraud-pipelines/evidence"
  owner_topic_arn = "arn:aws:sns:eu-central-1:444455556666:cordata-fraud-owners"
}

run "what_the_domain_declares_is_watched" {
  assert {
    condition = jsondecode(aws_lambda_function.this.environment[0].variables.CORDATA_FRESHNESS_PRODUCTS) == [{
      database      = "fraud_curated"
      table         = "transactions_scored"
      domain        = "fraud"
      pipeline      = "transactions-scored-daily"
      owner         = "fraud-data@cordata.example"
      freshness_sla = "PT4H"
    }]
    error_message = "as the descriptor says"
  }

  assert {
    condition     = aws_lambda_function.this.environment[0].variables.CORDATA_EVIDENCE == "s3://cordata-fraud-pipelines/evidence"
    error_message = "the evidence of the jobs"
  }

  assert {
    condition     = aws_cloudwatch_event_rule.this.schedule_expression == "rate(15 minutes)" && aws_cloudwatch_event_target.this.arn == aws_lambda_function.this.arn
    error_message = "on a schedule"
  }
}

run "it_reads_no_row_and_writes_its_own_state_only" {
  assert {
    condition = one([for statement in data.aws_iam_policy_document.watch.statement : statement.resources if statement.sid == "Metadata"]) == toset([
      "arn:aws:s3:::cordata-fraud-curated-eu-central-1/transactions_scored/metadata/*",
    ])
    error_message = "of a product the metadata, not the data"
  }

  assert {
    condition = [for statement in data.aws_iam_policy_document.watch.statement : statement.resources if contains(statement.actions, "s3:PutObject")] == [toset([
      "arn:aws:s3:::cordata-fraud-pipelines/evidence/freshness/*",
    ])]
    error_message = "no event of a run can be changed"
  }

  assert {
    condition     = length([for statement in data.aws_iam_policy_document.watch.statement : statement if anytrue([for action in statement.actions : startswith(action, "s3:Delete") || endswith(action, ":*")])]) == 0
    error_message = "nothing is deleted"
  }
}

run "lake_formation_shows_it_the_products_and_no_row" {
  assert {
    condition     = keys(aws_lakeformation_permissions.tables) == ["fraud_curated"] && alltrue([for grant in aws_lakeformation_permissions.tables : grant.table[0].wildcard && join(",", grant.permissions) == "DESCRIBE"])
    error_message = "every product of the database, whether it is there already or not"
  }

  assert {
    condition     = [for grant in aws_lakeformation_permissions.database : "${grant.database[0].name}: ${join(",", grant.permissions)}"] == ["fraud_curated: DESCRIBE"]
    error_message = "and the database itself"
  }
}

run "a_watch_that_fails_or_stops_is_heard_of" {
  variables {
    alarm_topic_arn = "arn:aws:sns:eu-central-1:444455556666:platform-alarms"
    check_minutes   = 30
  }

  assert {
    condition     = aws_cloudwatch_metric_alarm.silent.treat_missing_data == "breaching" && aws_cloudwatch_metric_alarm.silent.period == 3600
    error_message = "two missed looks"
  }

  assert {
    condition     = aws_cloudwatch_metric_alarm.errors.alarm_actions == toset(["arn:aws:sns:eu-central-1:444455556666:platform-alarms"])
    error_message = "by the topic for alarms"
  }
}

run "keys_are_named_where_there_are_any" {
  variables {
    data_key_arns = ["arn:aws:kms:eu-central-1:444455556666:key/1"]
  }

  assert {
    condition     = one([for statement in data.aws_iam_policy_document.watch.statement : statement.resources if statement.sid == "Keys"]) == toset(["arn:aws:kms:eu-central-1:444455556666:key/1"])
    error_message = "this key and no other"
  }
}

run "both_versions_of_descriptors_are_read" {
  command = plan
  variables {
    domain      = "finance"
    descriptors = ["domains/finance/pipelines/merchant_settlement_daily.yml"]
  }

  assert {
    condition     = can(regex("^P", local.products[0].freshness_sla))
    error_message = "a descriptor of v2 has its contract below the target"
  }
}

run "another_domains_descriptor_is_refused" {
  command = plan
  variables {
    domain = "policy"
  }
  expect_failures = [aws_lambda_function.this]
}

run "a_path_out_of_the_repository_is_refused" {
  command = plan
  variables {
    descriptors = ["../secret.yml"]
  }
  expect_failures = [var.descriptors]
}

run "a_look_every_second_is_refused" {
  command = plan
  variables {
    check_minutes = 0
  }
  expect_failures = [var.check_minutes]
}

run "a_queue_is_no_topic" {
  command = plan
  variables {
    owner_topic_arn = "arn:aws:sqs:eu-central-1:444455556666:owners"
  }
  expect_failures = [var.owner_topic_arn]
}

run "evidence_elsewhere_than_in_s3_is_refused" {
  command = plan
  variables {
    evidence = "/var/evidence"
  }
  expect_failures = [var.evidence]
}
