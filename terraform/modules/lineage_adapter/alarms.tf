locals {
  actions = var.alarm_topic_arn == null ? [] : [var.alarm_topic_arn]

  functions = merge(
    { http = aws_lambda_function.http.function_name },
    var.keyed_emitters_enabled ? { authorizer = aws_lambda_function.authorizer[0].function_name } : {},
    var.stream_enabled ? { stream = aws_lambda_function.stream[0].function_name } : {},
    { for domain, closer in aws_lambda_function.closer : "${domain}-closer" => closer.function_name },
  )

  queues = { dead-letters = aws_sqs_queue.dead_letters.name, failures = aws_sqs_queue.failures.name }
}

resource "aws_cloudwatch_metric_alarm" "queue" {
  for_each = local.queues

  alarm_name          = "${local.name}-${each.key}"
  alarm_description   = "Lineage lies in ${each.value}: see why, then redrive it."
  namespace           = "AWS/SQS"
  metric_name         = "ApproximateNumberOfMessagesVisible"
  dimensions          = { QueueName = each.value }
  statistic           = "Maximum"
  period              = 300
  evaluation_periods  = 1
  threshold           = 0
  comparison_operator = "GreaterThanThreshold"
  treat_missing_data  = "notBreaching"
  alarm_actions       = local.actions
  ok_actions          = local.actions
}

resource "aws_cloudwatch_metric_alarm" "errors" {
  for_each = local.functions

  alarm_name          = "${local.name}-${each.key}-errors"
  alarm_description   = "${each.value} failed; its log says why."
  namespace           = "AWS/Lambda"
  metric_name         = "Errors"
  dimensions          = { FunctionName = each.value }
  statistic           = "Sum"
  period              = 300
  evaluation_periods  = 1
  threshold           = 0
  comparison_operator = "GreaterThanThreshold"
  treat_missing_data  = "notBreaching"
  alarm_actions       = local.actions
  ok_actions          = local.actions
}

resource "aws_cloudwatch_metric_alarm" "lag" {
  count = var.stream_enabled ? 1 : 0

  alarm_name          = "${local.name}-stream-lag"
  alarm_description   = "The stream's oldest event has waited for an hour: DataZone throttles, or the function fails."
  namespace           = "AWS/Lambda"
  metric_name         = "IteratorAge"
  dimensions          = { FunctionName = aws_lambda_function.stream[0].function_name }
  statistic           = "Maximum"
  period              = 300
  evaluation_periods  = 3
  threshold           = 3600000
  comparison_operator = "GreaterThanThreshold"
  treat_missing_data  = "notBreaching"
  alarm_actions       = local.actions
  ok_actions          = local.actions
}
