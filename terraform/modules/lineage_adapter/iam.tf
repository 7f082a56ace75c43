locals {
  arn  = "arn:${data.aws_partition.this.partition}"
  here = "${data.aws_region.this.name}:${data.aws_caller_identity.this.account_id}"

  closer_targets = { for name, domain in var.domains : name => "${local.arn}:iam::${domain.account}:role/cordata-${name}-closer" }
}

data "aws_iam_policy_document" "lambda_trust" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["lambda.amazonaws.com"]
    }
  }
}

# ---- the adapter

resource "aws_iam_role" "adapter" {
  name               = local.name
  description        = "Posts lineage to DataZone, keeps what is refused."
  assume_role_policy = data.aws_iam_policy_document.lambda_trust.json
}

resource "aws_iam_role_policy" "adapter" {
  name   = "post"
  role   = aws_iam_role.adapter.id
  policy = data.aws_iam_policy_document.adapter.json
}

data "aws_iam_policy_document" "adapter" {
  statement {
    sid       = "Post"
    actions   = ["datazone:PostLineageEvent"]
    resources = ["${local.arn}:datazone:${local.here}:domain/${var.datazone_domain_id}"]
  }

  statement {
    sid       = "KeepDeadLetters"
    actions   = ["sqs:SendMessage"]
    resources = [aws_sqs_queue.dead_letters.arn, aws_sqs_queue.failures.arn]
  }

  statement {
    sid       = "KeepPayloads"
    actions   = ["s3:PutObject"]
    resources = ["${aws_s3_bucket.payloads.arn}/dead-letters/*"]
  }

  statement {
    sid       = "Logs"
    actions   = ["logs:CreateLogStream", "logs:PutLogEvents"]
    resources = ["${local.arn}:logs:${local.here}:log-group:/aws/lambda/${local.name}-*"]
  }

  statement {
    sid       = "Trace"
    actions   = ["xray:PutTraceSegments", "xray:PutTelemetryRecords"]
    resources = ["*"]
  }

  dynamic "statement" {
    for_each = aws_kinesis_stream.this

    content {
      sid       = "ReadStream"
      actions   = ["kinesis:DescribeStream", "kinesis:DescribeStreamSummary", "kinesis:GetRecords", "kinesis:GetShardIterator", "kinesis:ListShards"]
      resources = [statement.value.arn]
    }
  }

  dynamic "statement" {
    for_each = var.kms_key_arn == null ? [] : [var.kms_key_arn]

    content {
      sid       = "Key"
      actions   = ["kms:Decrypt", "kms:GenerateDataKey"]
      resources = [statement.value]
    }
  }
}

resource "aws_iam_role" "authorizer" {
  count = var.keyed_emitters_enabled ? 1 : 0

  name               = "${local.name}-authorizer"
  description        = "Reads the emitters' keys, and nothing else."
  assume_role_policy = data.aws_iam_policy_document.lambda_trust.json
}

resource "aws_iam_role_policy" "authorizer" {
  count = var.keyed_emitters_enabled ? 1 : 0

  name   = "keys"
  role   = aws_iam_role.authorizer[0].id
  policy = data.aws_iam_policy_document.authorizer[0].json
}

data "aws_iam_policy_document" "authorizer" {
  count = var.keyed_emitters_enabled ? 1 : 0

  statement {
    sid       = "Keys"
    actions   = ["secretsmanager:GetSecretValue"]
    resources = [aws_secretsmanager_secret.keys[0].arn]
  }

  statement {
    sid       = "Logs"
    actions   = ["logs:CreateLogStream", "logs:PutLogEvents"]
    resources = ["${local.arn}:logs:${local.here}:log-group:/aws/lambda/${local.name}-authorizer:*"]
  }

  statement {
    sid       = "Trace"
    actions   = ["xray:PutTraceSegments", "xray:PutTelemetryRecords"]
    resources = ["*"]
  }

  dynamic "statement" {
    for_each = var.kms_key_arn == null ? [] : [var.kms_key_arn]

    content {
      sid       = "Key"
      actions   = ["kms:Decrypt"]
      resources = [statement.value]
    }
  }
}

# ---- the domains: each signs as its own role, and the adapter takes from that role what is the domain's

resource "aws_iam_role" "invoker" {
  for_each = var.domains

  name               = "cordata-${each.key}-lineage"
  description        = "Posts ${each.key}'s lineage, and no other domain's."
  assume_role_policy = data.aws_iam_policy_document.invoker_trust[each.key].json

  depends_on = [aws_iam_role.closer]
}

data "aws_iam_policy_document" "invoker_trust" {
  for_each = var.domains

  # A trust in another account names roles that must exist; the account with a condition does not have to wait for them.
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "AWS"
      identifiers = ["${local.arn}:iam::${each.value.account}:root"]
    }

    condition {
      test     = "ArnLike"
      variable = "aws:PrincipalArn"
      values = [
        for role in concat(sort(each.value.job_names), each.value.ingests ? ["ingest"] : []) : "${local.arn}:iam::${each.value.account}:role/cordata-${each.key}-${role}"
      ]
    }
  }

  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type = "AWS"
      # Spelled out: a new domain's closer must not make this policy unknown. The role waits for it below.
      identifiers = ["${local.arn}:iam::${data.aws_caller_identity.this.account_id}:role/cordata-${each.key}-closer-function"]
    }
  }
}

resource "aws_iam_role_policy" "invoker" {
  for_each = var.domains

  name   = "post"
  role   = aws_iam_role.invoker[each.key].id
  policy = data.aws_iam_policy_document.invoker.json
}

data "aws_iam_policy_document" "invoker" {
  statement {
    actions   = ["execute-api:Invoke"]
    resources = ["${aws_apigatewayv2_api.this.execution_arn}/*/POST/lineage"]
  }
}

# ---- the closers: each reaches into its own domain's account only

resource "aws_iam_role" "closer" {
  for_each = var.domains

  name               = "cordata-${each.key}-closer-function"
  description        = "Closes ${each.key}'s killed runs."
  assume_role_policy = data.aws_iam_policy_document.lambda_trust.json
}

resource "aws_iam_role_policy" "closer" {
  for_each = var.domains

  name   = "close"
  role   = aws_iam_role.closer[each.key].id
  policy = data.aws_iam_policy_document.closer[each.key].json
}

data "aws_iam_policy_document" "closer" {
  for_each = var.domains

  statement {
    sid       = "ReachTheDomain"
    actions   = ["sts:AssumeRole"]
    resources = [local.closer_targets[each.key], "${local.arn}:iam::${data.aws_caller_identity.this.account_id}:role/cordata-${each.key}-lineage"]
  }

  statement {
    sid       = "Failures"
    actions   = ["sqs:SendMessage"]
    resources = [aws_sqs_queue.failures.arn]
  }

  statement {
    sid       = "Logs"
    actions   = ["logs:CreateLogStream", "logs:PutLogEvents"]
    resources = ["${local.arn}:logs:${local.here}:log-group:/aws/lambda/cordata-${each.key}-closer:*"]
  }

  statement {
    sid       = "Trace"
    actions   = ["xray:PutTraceSegments", "xray:PutTelemetryRecords"]
    resources = ["*"]
  }

  dynamic "statement" {
    for_each = var.kms_key_arn == null ? [] : [var.kms_key_arn]

    content {
      sid       = "Key"
      actions   = ["kms:GenerateDataKey", "kms:Decrypt"]
      resources = [statement.value]
    }
  }
}

# ---- the dead letters' payloads

data "aws_iam_policy_document" "bucket" {
  statement {
    sid       = "OnlyEncryptedTransport"
    effect    = "Deny"
    actions   = ["s3:*"]
    resources = [aws_s3_bucket.payloads.arn, "${aws_s3_bucket.payloads.arn}/*"]

    principals {
      type        = "*"
      identifiers = ["*"]
    }

    condition {
      test     = "Bool"
      variable = "aws:SecureTransport"
      values   = ["false"]
    }
  }
}
