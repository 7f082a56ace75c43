data "aws_caller_identity" "this" {}

data "aws_partition" "this" {}

data "aws_region" "this" {}

locals {
  name    = "cordata-lineage"
  runtime = "python3.13"

  callers = merge(
    { for domain, role in aws_iam_role.invoker : role.arn => [domain] },
    var.stream_enabled ? { (aws_kinesis_stream.this[0].arn) = sort(var.stream_domains) } : {},
  )

  standin = var.endpoint_url == null ? {} : { AWS_ENDPOINT_URL = var.endpoint_url }

  adapter_environment = merge(local.standin, {
    DATAZONE_DOMAIN_ID           = var.datazone_domain_id
    LINEAGE_CALLERS              = jsonencode(local.callers)
    LINEAGE_DEAD_LETTER_QUEUE    = aws_sqs_queue.dead_letters.url
    LINEAGE_DEAD_LETTER_PAYLOADS = "s3://${aws_s3_bucket.payloads.id}/dead-letters"
  })
}

resource "aws_lambda_function" "http" {
  #checkov:skip=CKV_AWS_116:API Gateway calls it and waits; a dead-letter queue is for calls that nobody waits for.
  #checkov:skip=CKV_AWS_117:It calls AWS's own APIs only, signed and over TLS; nothing that it needs lies in a VPC.
  #checkov:skip=CKV_AWS_272:The plan shows the zip's hash, and the release's manifest names the commit that it is built from.
  function_name                  = "${local.name}-http"
  description                    = "Hands OpenLineage events that are posted to DataZone."
  role                           = aws_iam_role.adapter.arn
  runtime                        = local.runtime
  architectures                  = ["arm64"]
  handler                        = "lineage_adapter.handler.handler"
  filename                       = var.adapter_zip
  source_code_hash               = filebase64sha256(var.adapter_zip)
  memory_size                    = 512
  timeout                        = 25
  reserved_concurrent_executions = var.reserved_concurrency
  kms_key_arn                    = var.kms_key_arn

  environment {
    variables = local.adapter_environment
  }

  tracing_config {
    mode = "Active"
  }

  depends_on = [aws_cloudwatch_log_group.this, aws_iam_role_policy.adapter]
}

resource "aws_lambda_function" "authorizer" {
  #checkov:skip=CKV_AWS_116:API Gateway calls it and waits; a dead-letter queue is for calls that nobody waits for.
  #checkov:skip=CKV_AWS_117:It calls AWS's own APIs only, signed and over TLS; nothing that it needs lies in a VPC.
  #checkov:skip=CKV_AWS_272:The plan shows the zip's hash, and the release's manifest names the commit that it is built from.
  count = var.keyed_emitters_enabled ? 1 : 0

  function_name    = "${local.name}-authorizer"
  description      = "Says whose Bearer key a request carries."
  role             = aws_iam_role.authorizer[0].arn
  runtime          = local.runtime
  architectures    = ["arm64"]
  handler          = "lineage_adapter.authorizer.handler"
  filename         = var.adapter_zip
  source_code_hash = filebase64sha256(var.adapter_zip)
  memory_size      = 256
  timeout          = 8
  kms_key_arn      = var.kms_key_arn
  # Whoever finds the address can call it: without a limit, they could use up the account's.
  reserved_concurrent_executions = var.reserved_concurrency

  environment {
    variables = merge(local.standin, { LINEAGE_KEYS_SECRET = aws_secretsmanager_secret.keys[0].arn })
  }

  tracing_config {
    mode = "Active"
  }

  depends_on = [aws_cloudwatch_log_group.this, aws_iam_role_policy.authorizer]
}

resource "aws_secretsmanager_secret" "keys" {
  #checkov:skip=CKV2_AWS_57:A key is changed together with the emitter that holds it, as docs/operations.md says; a function cannot hand it over.
  count = var.keyed_emitters_enabled ? 1 : 0

  name       = "${local.name}/keys"
  kms_key_id = var.kms_key_arn
  # Keys are set and rotated outside Terraform: its state would hold them in the clear.
  description             = "Keys of emitters that can only send a Bearer token, each with its holder and domains."
  recovery_window_in_days = var.force_destroy ? 0 : 30
}

resource "aws_cloudwatch_log_group" "this" {
  for_each = toset(concat(
    ["/aws/lambda/${local.name}-http", "/aws/apigateway/${local.name}"],
    var.keyed_emitters_enabled ? ["/aws/lambda/${local.name}-authorizer"] : [],
    var.stream_enabled ? ["/aws/lambda/${local.name}-stream"] : [],
    [for domain in keys(var.domains) : "/aws/lambda/cordata-${domain}-closer"],
  ))

  name              = each.value
  retention_in_days = var.log_retention_days
  kms_key_id        = var.kms_key_arn
}
