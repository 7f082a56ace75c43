mock_provider "aws" {
  mock_data "aws_caller_identity" {
    defaults = { account_id = "222233334444" }
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
    defaults = { arn = "arn:aws:iam::222233334444:role/some" }
  }
  mock_resource "aws_lambda_function" {
    defaults = { arn = "arn:aws:lambda:eu-central-1:222233334444:function:some", invoke_arn = "arn:aws:apigateway:eu-central-1:lambda:path/some" }
  }
  mock_resource "aws_apigatewayv2_api" {
    defaults = { api_endpoint = "https://abc123.execute-api.eu-central-1.amazonaws.com", execution_arn = "arn:aws:execute-api:eu-central-1:222233334444:abc123" }
  }
  mock_resource "aws_sqs_queue" {
    defaults = { arn = "arn:aws:sqs:eu-central-1:222233334444:some", url = "https://sqs.eu-central-1.amazonaws.com/222233334444/some" }
  }
  mock_resource "aws_s3_bucket" {
    defaults = { arn = "arn:aws:s3:::cordata-lineage-payloads" }
  }
  mock_resource "aws_kinesis_stream" {
    defaults = { arn = "arn:aws:kinesis:eu-central-1:222233334444:stream/cordata-lineage" }
  }
  mock_resource "aws_secretsmanager_secret" {
    defaults = { arn = "arn:aws:secretsmanager:eu-central-1:222233334444:secret:keys" }
  }
  mock_resource "aws_cloudwatch_event_rule" {
    defaults = { arn = "arn:aws:events:eu-central-1:222233334444:rule/some" }
  }
  mock_resource "aws_cloudwatch_event_bus" {
    defaults = { arn = "arn:aws:events:eu-central-1:222233334444:event-bus/cordata-jobs" }
  }
  mock_resource "aws_cloudwatch_log_group" {
    defaults = { arn = "arn:aws:logs:eu-central-1:222233334444:log-group:some" }
  }
}

# What each role's ARN is matters to the callers' map.
override_resource {
  target = aws_iam_role.invoker["fraud"]
  values = { arn = "arn:aws:iam::222233334444:role/cordata-fraud-lineage" }
}

override_resource {
  target = aws_iam_role.invoker["finance"]
  values = { arn = "arn:aws:iam::222233334444:role/cordata-finance-lineage" }
}

variables {
  datazone_domain_id  = "dzd_4x1abcdefghij"
  adapter_zip         = "./versions.tf"
  executor_zip        = "./versions.tf"
  payload_bucket_name = "cordata-lineage-payloads"
  domains = {
    fraud   = { account = "444455556666", job_names = ["transactions_scored_daily"], evidence = "s3://cordata-fraud-pipelines/evidence" }
    finance = { account = "666677778888", job_names = ["merchant_settlement_daily"], evidence = "s3://cordata-finance-pipelines/evidence" }
  }
}

run "each_domain_signs_as_its_own_role_and_speaks_for_itself" {
  assert {
    condition = jsondecode(aws_lambda_function.http.environment[0].variables.LINEAGE_CALLERS) == {
      "arn:aws:iam::222233334444:role/cordata-fraud-lineage"   = ["fraud"]
      "arn:aws:iam::222233334444:role/cordata-finance-lineage" = ["finance"]
    }
    error_message = "one role, one domain"
  }

  assert {
    condition     = aws_apigatewayv2_route.signed.authorization_type == "AWS_IAM" && aws_apigatewayv2_route.signed.route_key == "POST /lineage"
    error_message = "the executor's route is signed"
  }

  assert {
    condition     = aws_apigatewayv2_route.keyed[0].authorization_type == "CUSTOM" && aws_apigatewayv2_authorizer.keys[0].authorizer_result_ttl_in_seconds == 0
    error_message = "the keyed route asks the authorizer, each time"
  }

  assert {
    condition     = data.aws_iam_policy_document.invoker_trust["fraud"].statement[0].condition != null && one([for condition in data.aws_iam_policy_document.invoker_trust["fraud"].statement[0].condition : condition.values]) == tolist(["arn:aws:iam::444455556666:role/cordata-fraud-transactions_scored_daily"])
    error_message = "only the domain's jobs may take its role"
  }
}

run "a_domain_that_ingests_signs_for_its_replication_too" {
  variables {
    domains = {
      fraud   = { account = "444455556666", job_names = ["transactions_scored_daily"], evidence = "s3://cordata-fraud-pipelines/evidence", ingests = true }
      finance = { account = "666677778888", job_names = ["merchant_settlement_daily"], evidence = "s3://cordata-finance-pipelines/evidence" }
    }
  }

  assert {
    condition = one(data.aws_iam_policy_document.invoker_trust["fraud"].statement[0].condition).values == tolist([
      "arn:aws:iam::444455556666:role/cordata-fraud-transactions_scored_daily",
      "arn:aws:iam::444455556666:role/cordata-fraud-ingest",
    ])
    error_message = "its jobs, and the role that tells of its replication"
  }

  assert {
    condition     = one(data.aws_iam_policy_document.invoker_trust["finance"].statement[0].condition).values == tolist(["arn:aws:iam::666677778888:role/cordata-finance-merchant_settlement_daily"])
    error_message = "of a domain without one only the jobs"
  }
}

run "a_domains_jobs_are_closed_by_its_own_closer" {
  assert {
    condition     = aws_lambda_function.closer["fraud"].environment[0].variables.CORDATA_CLOSER_ROLE_ARN == "arn:aws:iam::444455556666:role/cordata-fraud-closer"
    error_message = "it reaches into that account"
  }

  assert {
    condition     = aws_lambda_function.closer["fraud"].environment[0].variables.CORDATA_OWNER_TOPIC == "arn:aws:sns:eu-central-1:444455556666:cordata-fraud-owners"
    error_message = "it tells that domain's owners"
  }

  assert {
    condition     = jsondecode(aws_cloudwatch_event_rule.ended["fraud"].event_pattern).account == ["444455556666"]
    error_message = "it hears of that account's jobs only"
  }

  assert {
    condition     = length(aws_cloudwatch_event_target.sweep) == 2 && aws_cloudwatch_event_rule.sweep.schedule_expression == "rate(15 minutes)"
    error_message = "and looks for what it did not hear"
  }
}

run "nothing_fails_unheard" {
  assert {
    condition     = toset(keys(aws_cloudwatch_metric_alarm.queue)) == toset(["dead-letters", "failures"])
    error_message = "an alarm a queue"
  }

  assert {
    condition     = toset(keys(aws_cloudwatch_metric_alarm.errors)) == toset(["http", "authorizer", "fraud-closer", "finance-closer"])
    error_message = "an alarm a function"
  }
}

run "one_key_encrypts_what_the_adapter_keeps" {
  variables {
    kms_key_arn       = "arn:aws:kms:eu-central-1:222233334444:key/0000"
    access_log_bucket = "cordata-access-logs"
  }

  assert {
    condition     = alltrue([for function in concat([aws_lambda_function.http, aws_lambda_function.authorizer[0]], values(aws_lambda_function.closer)) : function.kms_key_arn == var.kms_key_arn])
    error_message = "the functions' settings"
  }

  assert {
    condition     = alltrue([for group in aws_cloudwatch_log_group.this : group.kms_key_id == var.kms_key_arn])
    error_message = "their logs"
  }

  assert {
    condition     = aws_s3_bucket_logging.payloads[0].target_bucket == "cordata-access-logs"
    error_message = "who reads a payload is written down"
  }

  assert {
    condition     = aws_lambda_function.authorizer[0].reserved_concurrent_executions == 20
    error_message = "strangers cannot use up the account's functions"
  }
}

run "a_stream_is_there_when_it_is_asked_for" {
  variables {
    stream_enabled = true
    stream_domains = ["fraud"]
  }

  assert {
    condition     = contains(aws_lambda_event_source_mapping.stream[0].function_response_types, "ReportBatchItemFailures") && aws_lambda_event_source_mapping.stream[0].batch_size == 500
    error_message = "only what failed is replayed"
  }

  assert {
    condition     = jsondecode(aws_lambda_function.stream[0].environment[0].variables.LINEAGE_CALLERS)["arn:aws:kinesis:eu-central-1:222233334444:stream/cordata-lineage"] == ["fraud"]
    error_message = "the stream speaks for the domains it is given"
  }
}

run "without_keyed_emitters_there_is_no_key" {
  variables {
    keyed_emitters_enabled = false
  }

  assert {
    condition     = length(aws_apigatewayv2_route.keyed) + length(aws_secretsmanager_secret.keys) + length(aws_lambda_function.authorizer) == 0
    error_message = "no route, no secret, no authorizer"
  }
}

run "a_domains_name_for_datazone_is_refused" {
  command = plan
  variables {
    datazone_domain_id = "my-domain"
  }
  expect_failures = [var.datazone_domain_id]
}

run "a_domain_without_jobs_is_refused" {
  command = plan
  variables {
    domains = { fraud = { account = "444455556666", job_names = [], evidence = "s3://cordata-fraud-pipelines/evidence" } }
  }
  expect_failures = [var.domains]
}

run "evidence_that_is_no_prefix_is_refused" {
  command = plan
  variables {
    domains = { fraud = { account = "444455556666", job_names = ["x"], evidence = "/tmp/evidence" } }
  }
  expect_failures = [var.domains]
}

run "a_sweep_every_minute_is_refused" {
  command = plan
  variables {
    sweep_minutes = 1
  }
  expect_failures = [var.sweep_minutes]
}

run "payloads_that_do_not_outlive_their_messages_are_refused" {
  command = plan
  variables {
    payload_retention_days = 14
  }
  expect_failures = [var.payload_retention_days]
}
