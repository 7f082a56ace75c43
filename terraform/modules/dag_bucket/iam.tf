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

  # A domain writes its own descriptors and nothing that Airflow would run. A policy names roles that must exist; the
  # account with a condition does not have to wait for them.
  dynamic "statement" {
    for_each = var.descriptor_writer_arns

    content {
      actions = ["s3:PutObject", "s3:DeleteObject"]
      resources = [
        "${aws_s3_bucket.this.arn}/${local.descriptors[statement.key]}/*.yml",
        "${aws_s3_bucket.this.arn}/${local.descriptors[statement.key]}/*.yaml",
      ]

      principals {
        type        = "AWS"
        identifiers = ["arn:${data.aws_partition.this.partition}:iam::${split(":", statement.value)[4]}:root"]
      }

      condition {
        test     = "ArnEquals"
        variable = "aws:PrincipalArn"
        values   = [statement.value]
      }
    }
  }

  # What its last merge left there and this one does not have is taken away.
  dynamic "statement" {
    for_each = var.descriptor_writer_arns

    content {
      actions   = ["s3:ListBucket"]
      resources = [aws_s3_bucket.this.arn]

      principals {
        type        = "AWS"
        identifiers = ["arn:${data.aws_partition.this.partition}:iam::${split(":", statement.value)[4]}:root"]
      }

      condition {
        test     = "ArnEquals"
        variable = "aws:PrincipalArn"
        values   = [statement.value]
      }

      condition {
        test     = "StringLike"
        variable = "s3:prefix"
        values   = ["${local.descriptors[statement.key]}/*"]
      }
    }
  }
}
