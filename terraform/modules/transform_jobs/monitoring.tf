resource "aws_sns_topic" "owners" {
  name              = "cordata-${var.domain}-owners"
  kms_master_key_id = local.kms_key_arn
}

resource "aws_sns_topic_policy" "owners" {
  arn    = aws_sns_topic.owners.arn
  policy = data.aws_iam_policy_document.topic.json
}

resource "aws_sns_topic_subscription" "owners" {
  for_each = var.owner_emails

  topic_arn = aws_sns_topic.owners.arn
  protocol  = "email"
  endpoint  = each.value
}

resource "aws_cloudwatch_log_group" "this" {
  for_each = merge([for name, group in local.log_groups : { for kind in ["error", "output"] : "${name}/${kind}" => "${group}/${kind}" }]...)

  name              = each.value
  retention_in_days = var.log_retention_days
  kms_key_id        = local.kms_key_arn
}

# A job that Glue ended before its code could say anything: without a closer the owner hears of it from Glue itself. The
# closer tells of it once, and not at all of what the run has told.
resource "aws_cloudwatch_event_rule" "failed" {
  count = var.closer_role_arn == null ? 1 : 0

  name        = "cordata-${var.domain}-job-failed"
  description = "A job of ${var.domain} failed, ran out of time or was stopped."

  event_pattern = jsonencode({
    source      = ["aws.glue"]
    detail-type = ["Glue Job State Change"]
    detail      = { jobName = keys(local.jobs), state = ["FAILED", "TIMEOUT", "STOPPED"] }
  })
}

resource "aws_cloudwatch_event_target" "failed" {
  count = var.closer_role_arn == null ? 1 : 0

  rule = aws_cloudwatch_event_rule.failed[0].name
  arn  = aws_sns_topic.owners.arn

  input_transformer {
    input_paths = { job = "$.detail.jobName", state = "$.detail.state", run = "$.detail.jobRunId", message = "$.detail.message" }
    # Glue's message, not the log: a log can hold what a row held.
    input_template = "\"Job <job> of domain ${var.domain}: <state> (<run>). <message>\""
  }
}

resource "aws_cloudwatch_event_rule" "ended" {
  count = var.governance_event_bus_arn == null ? 0 : 1

  name        = "cordata-${var.domain}-job-ended"
  description = "Tells the closer that a job of ${var.domain} ended."

  event_pattern = jsonencode({
    source      = ["aws.glue"]
    detail-type = ["Glue Job State Change"]
    detail      = { jobName = keys(local.jobs), state = ["SUCCEEDED", "FAILED", "TIMEOUT", "STOPPED"] }
  })
}

resource "aws_cloudwatch_event_target" "ended" {
  count = var.governance_event_bus_arn == null ? 0 : 1

  rule     = aws_cloudwatch_event_rule.ended[0].name
  arn      = var.governance_event_bus_arn
  role_arn = aws_iam_role.events[0].arn
}
