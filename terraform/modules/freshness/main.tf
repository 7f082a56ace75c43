locals {
  name = "cordata-${var.domain}-freshness"

  descriptors = { for path in var.descriptors : path => yamldecode(file("${var.repository_root}/${path}")) }

  # What the domain declares: a product that was never published has no table that says so. In a descriptor of v1 the
  # contract stands beside the target.
  products = [for path in sort(keys(local.descriptors)) : {
    database      = local.descriptors[path].target.database
    table         = local.descriptors[path].target.table
    domain        = local.descriptors[path].metadata.domain
    pipeline      = local.descriptors[path].metadata.name
    owner         = local.descriptors[path].metadata.owner
    freshness_sla = try(local.descriptors[path].target.contract, local.descriptors[path].contract).freshness_sla
  }]

  standin = var.endpoint_url == null ? {} : { AWS_ENDPOINT_URL = var.endpoint_url }
  actions = var.alarm_topic_arn == null ? [] : [var.alarm_topic_arn]
}

resource "aws_lambda_function" "this" {
  #checkov:skip=CKV_AWS_115:A schedule calls it, one at a time; a reservation a domain would use up the account's.
  #checkov:skip=CKV_AWS_116:A call that failed is made up for by the next one, and its alarm says so; there is nothing to keep.
  #checkov:skip=CKV_AWS_117:It calls AWS's own APIs only, signed and over TLS; nothing that it needs lies in a VPC.
  #checkov:skip=CKV_AWS_272:The plan shows the zip's hash, and the release's manifest names the commit that it is built from.
  function_name    = local.name
  description      = "Tells the owners of ${var.domain}'s products when one is late, and when it is fresh again."
  role             = aws_iam_role.this.arn
  runtime          = "python3.13"
  architectures    = ["arm64"]
  handler          = "pipeline_runtime.freshness.handler.handler"
  filename         = var.executor_zip
  source_code_hash = filebase64sha256(var.executor_zip)
  memory_size      = 512
  timeout          = 300
  kms_key_arn      = var.kms_key_arn

  environment {
    variables = merge(local.standin, {
      CORDATA_EVIDENCE           = "s3://${local.evidence.bucket}/${local.evidence.prefix}"
      CORDATA_OWNER_TOPIC        = var.owner_topic_arn
      CORDATA_FRESHNESS_DOMAIN   = var.domain
      CORDATA_FRESHNESS_PRODUCTS = jsonencode(local.products)
    })
  }

  tracing_config {
    mode = "Active"
  }

  lifecycle {
    precondition {
      condition     = length(jsonencode(local.products)) <= 3500
      error_message = "A function takes 4 KB of variables in all, and these descriptors need more: watch a part of them by a second instance, or leave out those that are published already (the catalog knows them)."
    }
    precondition {
      condition     = alltrue([for product in local.products : product.domain == var.domain])
      error_message = "Every descriptor is of the domain that is watched."
    }
  }

  depends_on = [aws_cloudwatch_log_group.this, aws_iam_role_policy.this]
}

resource "aws_cloudwatch_log_group" "this" {
  name              = "/aws/lambda/${local.name}"
  retention_in_days = var.log_retention_days
  kms_key_id        = var.kms_key_arn
}

resource "aws_cloudwatch_event_rule" "this" {
  name                = local.name
  description         = "Looks whether ${var.domain}'s products are as fresh as promised."
  schedule_expression = "rate(${var.check_minutes} minutes)"
}

resource "aws_cloudwatch_event_target" "this" {
  rule = aws_cloudwatch_event_rule.this.name
  arn  = aws_lambda_function.this.arn
}

resource "aws_lambda_permission" "this" {
  statement_id  = "schedule"
  action        = "lambda:InvokeFunction"
  function_name = aws_lambda_function.this.function_name
  principal     = "events.amazonaws.com"
  source_arn    = aws_cloudwatch_event_rule.this.arn
}

resource "aws_cloudwatch_metric_alarm" "errors" {
  alarm_name          = "${local.name}-errors"
  alarm_description   = "A product could not be judged, or an owner not told; the function's log says which."
  namespace           = "AWS/Lambda"
  metric_name         = "Errors"
  dimensions          = { FunctionName = aws_lambda_function.this.function_name }
  statistic           = "Sum"
  period              = 300
  evaluation_periods  = 1
  threshold           = 0
  comparison_operator = "GreaterThanThreshold"
  treat_missing_data  = "notBreaching"
  alarm_actions       = local.actions
  ok_actions          = local.actions
}

# Without it, a watch that has stopped looks like products that are all fresh.
resource "aws_cloudwatch_metric_alarm" "silent" {
  alarm_name          = "${local.name}-silent"
  alarm_description   = "Nobody has looked whether ${var.domain}'s products are fresh: is the rule disabled?"
  namespace           = "AWS/Lambda"
  metric_name         = "Invocations"
  dimensions          = { FunctionName = aws_lambda_function.this.function_name }
  statistic           = "Sum"
  period              = var.check_minutes * 120
  evaluation_periods  = 1
  threshold           = 1
  comparison_operator = "LessThanThreshold"
  treat_missing_data  = "breaching"
  alarm_actions       = local.actions
  ok_actions          = local.actions
}
