data "aws_partition" "this" {}

locals {
  s3       = "arn:${data.aws_partition.this.partition}:s3:::"
  place    = "^s3://(?P<bucket>[^/]+)/(?P<prefix>.*[^/])$"
  artefact = regex(local.place, var.artefact_location)
  config   = regex(local.place, var.config)
  dags     = var.dags == null ? null : regex(local.place, var.dags)
}

# A pull request may hold anybody's code; what is on the default branch has been reviewed.
data "aws_iam_policy_document" "check_trust" {
  statement {
    actions = ["sts:AssumeRoleWithWebIdentity"]

    principals {
      type        = "Federated"
      identifiers = [var.oidc_provider_arn]
    }

    condition {
      test     = "StringEquals"
      variable = "token.actions.githubusercontent.com:aud"
      values   = ["sts.amazonaws.com"]
    }

    condition {
      test     = "StringEquals"
      variable = "token.actions.githubusercontent.com:sub"
      values   = ["repo:${var.repository}:pull_request", "repo:${var.repository}:ref:refs/heads/${var.default_branch}"]
    }
  }
}

data "aws_iam_policy_document" "sync_trust" {
  statement {
    actions = ["sts:AssumeRoleWithWebIdentity"]

    principals {
      type        = "Federated"
      identifiers = [var.oidc_provider_arn]
    }

    condition {
      test     = "StringEquals"
      variable = "token.actions.githubusercontent.com:aud"
      values   = ["sts.amazonaws.com"]
    }

    condition {
      test     = "StringEquals"
      variable = "token.actions.githubusercontent.com:sub"
      values   = ["repo:${var.repository}:ref:refs/heads/${var.default_branch}"]
    }
  }
}

data "aws_iam_policy_document" "check" {
  statement {
    sid       = "Executor"
    actions   = ["s3:GetObject"]
    resources = ["${local.s3}${local.artefact.bucket}/${local.artefact.prefix}/*"]
  }
}

data "aws_iam_policy_document" "sync" {
  source_policy_documents = [data.aws_iam_policy_document.check.json]

  statement {
    sid = "Releases"
    # Not deployed.json, which says what Terraform has applied.
    actions   = ["s3:PutObject"]
    resources = [for name in ["current.json", "releases/*"] : "${local.s3}${local.config.bucket}/${local.config.prefix}/${name}"]
  }

  statement {
    sid       = "WhatIsDeployed"
    actions   = ["s3:GetObject"]
    resources = ["${local.s3}${local.config.bucket}/${local.config.prefix}/deployed.json"]
  }

  # Without it S3 calls a file that is not there a closed one.
  statement {
    sid       = "WhetherItIs"
    actions   = ["s3:ListBucket"]
    resources = ["${local.s3}${local.config.bucket}"]

    condition {
      test     = "StringEquals"
      variable = "s3:prefix"
      values   = ["${local.config.prefix}/deployed.json"]
    }
  }

  dynamic "statement" {
    for_each = local.dags == null ? [] : [local.dags]

    content {
      sid       = "TellTheOrchestrator"
      actions   = ["s3:PutObject", "s3:DeleteObject"]
      resources = [for suffix in ["yml", "yaml"] : "${local.s3}${statement.value.bucket}/${statement.value.prefix}/*.${suffix}"]
    }
  }

  dynamic "statement" {
    for_each = local.dags == null ? [] : [local.dags]

    content {
      sid       = "WhatItWasTold"
      actions   = ["s3:ListBucket"]
      resources = ["${local.s3}${statement.value.bucket}"]

      condition {
        test     = "StringLike"
        variable = "s3:prefix"
        values   = ["${statement.value.prefix}/*"]
      }
    }
  }

  dynamic "statement" {
    for_each = length(var.config_key_arns) == 0 ? [] : [var.config_key_arns]

    content {
      sid       = "Keys"
      actions   = ["kms:Decrypt", "kms:GenerateDataKey"]
      resources = sort(tolist(statement.value))
    }
  }
}
