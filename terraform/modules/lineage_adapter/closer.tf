# The domains' accounts pass their jobs' ends on to this bus.
resource "aws_cloudwatch_event_bus" "jobs" {
  name = "cordata-jobs"
}

resource "aws_cloudwatch_event_permission" "domains" {
  for_each = toset([for domain in values(var.domains) : domain.account if domain.account != data.aws_caller_identity.this.account_id])

  event_bus_name = aws_cloudwatch_event_bus.jobs.name
  principal      = each.value
  statement_id   = "account-${each.value}"
}

resource "aws_lambda_function" "closer" {
  #checkov:skip=CKV_AWS_115:Lambda queues what it is called with, a few events an hour; a reservation a domain would use up the account's.
  #checkov:skip=CKV_AWS_116:Its event_invoke_config sends what failed to the failures queue, with the reason.
  #checkov:skip=CKV_AWS_117:It calls AWS's own APIs only, signed and over TLS; nothing that it needs lies in a VPC.
  #checkov:skip=CKV_AWS_272:The plan shows the zip's hash, and the release's manifest names the commit that it is built from.
  for_each = var.domains

  function_name    = "cordata-${each.key}-closer"
  description      = "Says for ${each.key}'s killed runs how they ended."
  role             = aws_iam_role.closer[each.key].arn
  runtime          = local.runtime
  architectures    = ["arm64"]
  handler          = "pipeline_runtime.closer.handler.handler"
  filename         = var.executor_zip
  source_code_hash = filebase64sha256(var.executor_zip)
  memory_size      = 512
  timeout          = 300
  kms_key_arn      = var.kms_key_arn

  environment {
    variables = merge(local.standin, {
      CORDATA_EVIDENCE         = each.value.evidence
      CORDATA_LINEAGE_URL      = "${aws_apigatewayv2_api.this.api_endpoint}/lineage"
      CORDATA_LINEAGE_ROLE_ARN = aws_iam_role.invoker[each.key].arn
      CORDATA_CLOSER_JOBS      = join(",", sort(each.value.job_names))
      CORDATA_CLOSER_ROLE_ARN  = local.closer_targets[each.key]
      # As transform_jobs names it; the role that the closer assumes there may publish to it.
      CORDATA_OWNER_TOPIC = "${local.arn}:sns:${data.aws_region.this.name}:${each.value.account}:cordata-${each.key}-owners"
    })
  }

  tracing_config {
    mode = "Active"
  }

  depends_on = [aws_cloudwatch_log_group.this, aws_iam_role_policy.closer]
}

resource "aws_lambda_function_event_invoke_config" "closer" {
  for_each = var.domains

  function_name                = aws_lambda_function.closer[each.key].function_name
  maximum_retry_attempts       = 2
  maximum_event_age_in_seconds = 21600

  destination_config {
    on_failure {
      destination = aws_sqs_queue.failures.arn
    }
  }
}

resource "aws_cloudwatch_event_rule" "ended" {
  for_each = var.domains

  name           = "cordata-${each.key}-job-ended"
  description    = "A job of ${each.key} ended."
  event_bus_name = aws_cloudwatch_event_bus.jobs.name

  event_pattern = jsonencode({
    source      = ["aws.glue"]
    account     = [each.value.account]
    detail-type = ["Glue Job State Change"]
    detail      = { jobName = sort(each.value.job_names), state = ["SUCCEEDED", "FAILED", "TIMEOUT", "STOPPED"] }
  })
}

resource "aws_cloudwatch_event_target" "ended" {
  for_each = var.domains

  rule           = aws_cloudwatch_event_rule.ended[each.key].name
  event_bus_name = aws_cloudwatch_event_bus.jobs.name
  arn            = aws_lambda_function.closer[each.key].arn
}

resource "aws_lambda_permission" "ended" {
  for_each = var.domains

  statement_id  = "job-ended"
  action        = "lambda:InvokeFunction"
  function_name = aws_lambda_function.closer[each.key].function_name
  principal     = "events.amazonaws.com"
  source_arn    = aws_cloudwatch_event_rule.ended[each.key].arn
}

# Glue's events are best effort: the sweep asks Glue itself.
resource "aws_cloudwatch_event_rule" "sweep" {
  name                = "cordata-closer-sweep"
  description         = "Lets the closers look for runs whose end no event told."
  schedule_expression = "rate(${var.sweep_minutes} minutes)"
}

resource "aws_cloudwatch_event_target" "sweep" {
  for_each = var.domains

  rule  = aws_cloudwatch_event_rule.sweep.name
  arn   = aws_lambda_function.closer[each.key].arn
  input = jsonencode({ sweep = true })
}

resource "aws_lambda_permission" "sweep" {
  for_each = var.domains

  statement_id  = "sweep"
  action        = "lambda:InvokeFunction"
  function_name = aws_lambda_function.closer[each.key].function_name
  principal     = "events.amazonaws.com"
  source_arn    = aws_cloudwatch_event_rule.sweep.arn
}
