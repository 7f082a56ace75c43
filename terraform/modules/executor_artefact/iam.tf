locals {
  readers = sort([for account in values(var.reader_accounts) : "arn:${data.aws_partition.this.partition}:iam::${account}:root"])
}

data "aws_partition" "this" {}

data "aws_iam_policy_document" "bucket" {
  statement {
    sid       = "OnlyEncryptedTransport"
    effect    = "Deny"
    actions   = ["s3:*"]
    resources = [aws_s3_bucket.this.arn, "${aws_s3_bucket.this.arn}/*"]

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

  # A published version is what runs named in their provenance: it is never replaced. S3 itself refuses a write
  # without If-None-Match. The parts of a multipart upload cannot carry that header, its completion does.
  # The list of domains lies beside the versions' folders and follows what is deployed.
  statement {
    sid       = "NothingIsOverwritten"
    effect    = "Deny"
    actions   = ["s3:PutObject"]
    resources = ["${aws_s3_bucket.this.arn}/${local.prefix}*/*"]

    principals {
      type        = "*"
      identifiers = ["*"]
    }

    condition {
      test     = "Null"
      variable = "s3:if-none-match"
      values   = ["true"]
    }

    condition {
      test     = "Bool"
      variable = "s3:ObjectCreationOperation"
      values   = ["true"]
    }
  }

  statement {
    sid       = "PlatformPublishes"
    actions   = ["s3:PutObject", "s3:GetObject"]
    resources = ["${aws_s3_bucket.this.arn}/${local.prefix}*"]

    principals {
      type        = "AWS"
      identifiers = var.publisher_arns
    }
  }

  dynamic "statement" {
    for_each = length(local.readers) > 0 ? [1] : []

    content {
      sid       = "DomainsRead"
      actions   = ["s3:GetObject"]
      resources = ["${aws_s3_bucket.this.arn}/${local.prefix}*"]

      principals {
        type        = "AWS"
        identifiers = local.readers
      }
    }
  }

  dynamic "statement" {
    for_each = length(local.readers) > 0 ? [1] : []

    content {
      sid       = "DomainsList"
      actions   = ["s3:ListBucket"]
      resources = [aws_s3_bucket.this.arn]

      principals {
        type        = "AWS"
        identifiers = local.readers
      }

      condition {
        test     = "StringLike"
        variable = "s3:prefix"
        values   = ["${local.prefix}*"]
      }
    }
  }
}
