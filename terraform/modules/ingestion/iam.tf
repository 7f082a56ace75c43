data "aws_iam_policy_document" "dms_trust" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["dms.amazonaws.com"]
    }
  }
}

data "aws_iam_policy_document" "registration_trust" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["lakeformation.amazonaws.com"]
    }
  }
}

resource "aws_iam_role" "source" {
  name               = "cordata-${var.domain}-dms-source"
  description        = "Lets DMS read the source system's credentials."
  assume_role_policy = data.aws_iam_policy_document.dms_trust.json
}

data "aws_iam_policy_document" "source" {
  statement {
    actions   = ["secretsmanager:GetSecretValue", "secretsmanager:DescribeSecret"]
    resources = [var.source_system.secret_arn]
  }
}

resource "aws_iam_role_policy" "source" {
  name   = "credentials"
  role   = aws_iam_role.source.id
  policy = data.aws_iam_policy_document.source.json
}

resource "aws_iam_role" "landing" {
  name               = "cordata-${var.domain}-dms-landing"
  description        = "Lets DMS write landed files."
  assume_role_policy = data.aws_iam_policy_document.dms_trust.json
}

data "aws_iam_policy_document" "landing" {
  statement {
    actions   = ["s3:PutObject", "s3:DeleteObject", "s3:PutObjectTagging"]
    resources = ["${aws_s3_bucket.landing.arn}/*"]
  }

  statement {
    actions   = ["s3:ListBucket"]
    resources = [aws_s3_bucket.landing.arn]
  }

  statement {
    actions   = ["kms:Encrypt", "kms:Decrypt", "kms:GenerateDataKey"]
    resources = [var.kms_key_arn]
  }
}

resource "aws_iam_role_policy" "landing" {
  name   = "land"
  role   = aws_iam_role.landing.id
  policy = data.aws_iam_policy_document.landing.json
}

resource "aws_iam_role" "registration" {
  name               = "cordata-${var.domain}-landing-registration"
  description        = "What Lake Formation reads the landing location with."
  assume_role_policy = data.aws_iam_policy_document.registration_trust.json
}

data "aws_iam_policy_document" "registration" {
  statement {
    actions   = ["s3:GetObject"]
    resources = ["${aws_s3_bucket.landing.arn}/*"]
  }

  statement {
    actions   = ["s3:ListBucket"]
    resources = [aws_s3_bucket.landing.arn]
  }

  statement {
    actions   = ["kms:Decrypt"]
    resources = [var.kms_key_arn]
  }
}

resource "aws_iam_role_policy" "registration" {
  name   = "read"
  role   = aws_iam_role.registration.id
  policy = data.aws_iam_policy_document.registration.json
}

data "aws_iam_policy_document" "bucket" {
  statement {
    sid       = "OnlyEncryptedTransport"
    effect    = "Deny"
    actions   = ["s3:*"]
    resources = [aws_s3_bucket.landing.arn, "${aws_s3_bucket.landing.arn}/*"]

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
