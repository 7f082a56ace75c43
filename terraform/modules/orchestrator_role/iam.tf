data "aws_caller_identity" "this" {}

data "aws_partition" "this" {}

data "aws_region" "this" {}

locals {
  arn     = "arn:${data.aws_partition.this.partition}"
  region  = data.aws_region.this.name
  account = data.aws_caller_identity.this.account_id
}

data "aws_iam_policy_document" "trust" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = var.trusted_services
    }
  }
}

data "aws_iam_policy_document" "assume" {
  statement {
    actions   = ["sts:AssumeRole"]
    resources = sort(values(var.scheduler_role_arns))
  }
}

# What Amazon MWAA asks of an environment's execution role:
# https://docs.aws.amazon.com/mwaa/latest/userguide/mwaa-create-role.html
data "aws_iam_policy_document" "dags" {
  count = var.dag_bucket_name == null ? 0 : 1

  statement {
    sid       = "ReadTheBucket"
    actions   = ["s3:GetObject*", "s3:GetBucket*", "s3:List*"]
    resources = ["${local.arn}:s3:::${var.dag_bucket_name}", "${local.arn}:s3:::${var.dag_bucket_name}/*"]
  }

  statement {
    sid = "SeeThatNothingIsPublic"
    # A setting of the account; it has no resource.
    actions   = ["s3:GetAccountPublicAccessBlock"]
    resources = ["*"]
  }
}

data "aws_iam_policy_document" "environment" {
  count = var.environment_name == null ? 0 : 1

  statement {
    sid       = "Health"
    actions   = ["airflow:PublishMetrics"]
    resources = ["${local.arn}:airflow:${local.region}:${local.account}:environment/${var.environment_name}"]
  }

  statement {
    sid = "Logs"
    actions = [
      "logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents", "logs:GetLogEvents", "logs:GetLogRecord", "logs:GetLogGroupFields", "logs:GetQueryResults",
    ]
    resources = ["${local.arn}:logs:${local.region}:${local.account}:log-group:airflow-${var.environment_name}-*"]
  }

  statement {
    sid       = "FindLogs"
    actions   = ["logs:DescribeLogGroups"]
    resources = ["*"]
  }

  statement {
    sid       = "Metrics"
    actions   = ["cloudwatch:PutMetricData"]
    resources = ["*"]

    condition {
      test     = "StringEquals"
      variable = "cloudwatch:namespace"
      values   = ["AmazonMWAA"]
    }
  }

  # The queue lies in an account of MWAA's own.
  statement {
    sid       = "Queue"
    actions   = ["sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:ReceiveMessage", "sqs:SendMessage"]
    resources = ["${local.arn}:sqs:${local.region}:*:airflow-celery-*"]
  }

  statement {
    sid           = "QueuesKey"
    actions       = ["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey*"]
    not_resources = ["${local.arn}:kms:*:${local.account}:key/*"]

    condition {
      test     = "StringLike"
      variable = "kms:ViaService"
      values   = ["sqs.${local.region}.amazonaws.com"]
    }
  }

  statement {
    sid       = "LineagesKey"
    actions   = ["secretsmanager:GetSecretValue"]
    resources = ["${local.arn}:secretsmanager:${local.region}:${local.account}:secret:airflow/connections/openlineage-*"]
  }
}
