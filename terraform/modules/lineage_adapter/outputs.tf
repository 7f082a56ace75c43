output "lineage_url" {
  description = "The signed route's address: the domains' `lineage_url`."
  value       = "${aws_apigatewayv2_api.this.api_endpoint}/lineage"
}

output "keyed_lineage_url" {
  description = "What emitters with a Bearer key post to; null where that route is off."
  value       = var.keyed_emitters_enabled ? "${aws_apigatewayv2_api.this.api_endpoint}/api/v1/lineage" : null
}

output "invoker_role_arns" {
  description = "Each domain's role for signing: its `lineage_invoker_role_arn`."
  value       = { for domain, role in aws_iam_role.invoker : domain => role.arn }
}

output "closer_role_arns" {
  description = "Each domain's closer: its `closer_role_arn`."
  value       = { for domain, role in aws_iam_role.closer : domain => role.arn }
}

output "event_bus_arn" {
  description = "The bus that the domains pass their jobs' ends on to: their `governance_event_bus_arn`."
  value       = aws_cloudwatch_event_bus.jobs.arn
}

output "dead_letter_queue_url" {
  description = "Where refused events lie, for `redrive`."
  value       = aws_sqs_queue.dead_letters.url
}

output "keys_secret_arn" {
  description = "The secret that the emitters' keys are set in; null where that route is off."
  value       = one(aws_secretsmanager_secret.keys[*].arn)
}

output "stream_name" {
  description = "The stream that takes events; null without one."
  value       = one(aws_kinesis_stream.this[*].name)
}
