# What could not be accepted, with its reason and untouched: `redrive` posts it again.
resource "aws_sqs_queue" "dead_letters" {
  name                              = "${local.name}-dead-letters"
  message_retention_seconds         = 1209600
  visibility_timeout_seconds        = 120
  kms_master_key_id                 = var.kms_key_arn
  kms_data_key_reuse_period_seconds = var.kms_key_arn == null ? null : 300
  sqs_managed_sse_enabled           = var.kms_key_arn == null ? true : null
}

# What a function was called with and never finished: the closer's events, the stream's batches (by position only).
resource "aws_sqs_queue" "failures" {
  name                              = "${local.name}-failures"
  message_retention_seconds         = 1209600
  kms_master_key_id                 = var.kms_key_arn
  kms_data_key_reuse_period_seconds = var.kms_key_arn == null ? null : 300
  sqs_managed_sse_enabled           = var.kms_key_arn == null ? true : null
}

resource "aws_s3_bucket" "payloads" {
  #checkov:skip=CKV2_AWS_62:A payload comes with a message in the dead-letter queue, which has an alarm.
  #checkov:skip=CKV_AWS_144:A payload waits to be posted again by this region's adapter, to this region's DataZone; another region has neither.
  bucket        = var.payload_bucket_name
  force_destroy = var.force_destroy
}

resource "aws_s3_bucket_versioning" "payloads" {
  bucket = aws_s3_bucket.payloads.id

  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "payloads" {
  bucket = aws_s3_bucket.payloads.id

  rule {
    bucket_key_enabled = var.kms_key_arn != null

    apply_server_side_encryption_by_default {
      sse_algorithm     = var.kms_key_arn == null ? "AES256" : "aws:kms"
      kms_master_key_id = var.kms_key_arn
    }
  }
}

resource "aws_s3_bucket_public_access_block" "payloads" {
  bucket = aws_s3_bucket.payloads.id

  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_policy" "payloads" {
  bucket = aws_s3_bucket.payloads.id
  policy = data.aws_iam_policy_document.bucket.json

  depends_on = [aws_s3_bucket_public_access_block.payloads]
}

resource "aws_s3_bucket_logging" "payloads" {
  count = var.access_log_bucket == null ? 0 : 1

  bucket        = aws_s3_bucket.payloads.id
  target_bucket = var.access_log_bucket
  target_prefix = "${aws_s3_bucket.payloads.id}/"
}

resource "aws_s3_bucket_lifecycle_configuration" "payloads" {
  bucket = aws_s3_bucket.payloads.id

  rule {
    id     = "retention"
    status = "Enabled"

    filter {}

    expiration {
      days = var.payload_retention_days
    }

    noncurrent_version_expiration {
      noncurrent_days = 1
    }

    abort_incomplete_multipart_upload {
      days_after_initiation = 1
    }
  }

  depends_on = [aws_s3_bucket_versioning.payloads]
}

resource "aws_kinesis_stream" "this" {
  count = var.stream_enabled ? 1 : 0

  name             = local.name
  retention_period = 168
  encryption_type  = "KMS"
  kms_key_id       = coalesce(var.kms_key_arn, "alias/aws/kinesis")

  stream_mode_details {
    stream_mode = "ON_DEMAND"
  }
}

resource "aws_lambda_function" "stream" {
  #checkov:skip=CKV_AWS_115:A stream's batches come one at a time from each shard; its shards are the limit.
  #checkov:skip=CKV_AWS_116:The event source mapping has its own destination for failures; nobody else calls the function.
  #checkov:skip=CKV_AWS_117:It calls AWS's own APIs only, signed and over TLS; nothing that it needs lies in a VPC.
  #checkov:skip=CKV_AWS_272:The plan shows the zip's hash, and the release's manifest names the commit that it is built from.
  count = var.stream_enabled ? 1 : 0

  function_name    = "${local.name}-stream"
  description      = "Hands OpenLineage events from the stream to DataZone."
  role             = aws_iam_role.adapter.arn
  runtime          = local.runtime
  architectures    = ["arm64"]
  handler          = "lineage_adapter.kinesis.handler"
  filename         = var.adapter_zip
  source_code_hash = filebase64sha256(var.adapter_zip)
  memory_size      = 512
  timeout          = 300
  kms_key_arn      = var.kms_key_arn

  environment {
    variables = local.adapter_environment
  }

  tracing_config {
    mode = "Active"
  }

  depends_on = [aws_cloudwatch_log_group.this, aws_iam_role_policy.adapter]
}

resource "aws_lambda_event_source_mapping" "stream" {
  count = var.stream_enabled ? 1 : 0

  event_source_arn  = aws_kinesis_stream.this[0].arn
  function_name     = aws_lambda_function.stream[0].arn
  starting_position = "TRIM_HORIZON"
  batch_size        = 500
  # The handler puts what can never be accepted among the dead letters itself; only the rest is reported and replayed.
  function_response_types            = ["ReportBatchItemFailures"]
  bisect_batch_on_function_error     = true
  maximum_batching_window_in_seconds = 5

  destination_config {
    on_failure {
      destination_arn = aws_sqs_queue.failures.arn
    }
  }
}
