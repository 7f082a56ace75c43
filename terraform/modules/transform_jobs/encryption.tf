locals {
  kms_key_arn = length(var.kms_key_arns) > 0 ? var.kms_key_arns[0] : aws_kms_key.this[0].arn
}

# AWS's own key for SNS would do for the executor, but EventBridge may not use it: what Glue says of a job that could not
# speak for itself would never arrive.
resource "aws_kms_key" "this" {
  count = length(var.kms_key_arns) > 0 ? 0 : 1

  description             = "Configuration, evidence, logs and notices of ${var.domain}'s jobs."
  enable_key_rotation     = true
  deletion_window_in_days = 30
  policy                  = data.aws_iam_policy_document.key.json
}

resource "aws_kms_alias" "this" {
  count = length(var.kms_key_arns) > 0 ? 0 : 1

  name          = "alias/cordata-${var.domain}"
  target_key_id = aws_kms_key.this[0].key_id
}

data "aws_iam_policy_document" "key" {
  #checkov:skip=CKV_AWS_109:This is a key's own policy, whose * is the key; without the account's administrators nobody could change it.
  #checkov:skip=CKV_AWS_111:This is a key's own policy, whose * is the key; services use it under the conditions below.
  #checkov:skip=CKV_AWS_356:This is a key's own policy, whose * is the key.
  statement {
    sid       = "TheAccountAdministers"
    actions   = ["kms:*"]
    resources = ["*"]

    principals {
      type        = "AWS"
      identifiers = ["arn:${data.aws_partition.this.partition}:iam::${local.account}:root"]
    }
  }

  # As with AWS's own keys: who may read an object here, or publish to a topic, may do so encrypted. No role names the key.
  statement {
    sid       = "WhoMayUseBucketAndTopic"
    actions   = ["kms:Decrypt", "kms:GenerateDataKey*"]
    resources = ["*"]

    principals {
      type        = "AWS"
      identifiers = ["*"]
    }

    condition {
      test     = "StringEquals"
      variable = "kms:CallerAccount"
      values   = [local.account]
    }

    condition {
      test     = "StringEquals"
      variable = "kms:ViaService"
      values   = ["s3.${data.aws_region.this.name}.amazonaws.com", "sns.${data.aws_region.this.name}.amazonaws.com"]
    }
  }

  statement {
    sid       = "EventBridgeTellsOwners"
    actions   = ["kms:Decrypt", "kms:GenerateDataKey*"]
    resources = ["*"]

    principals {
      type        = "Service"
      identifiers = ["events.amazonaws.com"]
    }

    # What SNS asks KMS with, whoever publishes.
    condition {
      test     = "StringEquals"
      variable = "kms:EncryptionContext:aws:sns:topicArn"
      values   = ["arn:${data.aws_partition.this.partition}:sns:${data.aws_region.this.name}:${local.account}:cordata-${var.domain}-owners"]
    }
  }

  statement {
    sid       = "CloudWatchKeepsLogs"
    actions   = ["kms:Decrypt", "kms:Encrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:Describe*"]
    resources = ["*"]

    principals {
      type        = "Service"
      identifiers = ["logs.${data.aws_region.this.name}.amazonaws.com"]
    }

    condition {
      test     = "ArnLike"
      variable = "kms:EncryptionContext:aws:logs:arn"
      values   = ["arn:${data.aws_partition.this.partition}:logs:${data.aws_region.this.name}:${local.account}:log-group:/cordata/${var.domain}/*"]
    }
  }
}
