data "aws_caller_identity" "this" {}

data "aws_partition" "this" {}

data "aws_region" "this" {}

locals {
  arn     = "arn:${data.aws_partition.this.partition}"
  here    = "${data.aws_region.this.name}:${data.aws_caller_identity.this.account_id}"
  catalog = "${local.arn}:glue:${local.here}"

  place     = "^s3://(?P<bucket>[^/]+)/(?P<prefix>.*[^/])/*$"
  evidence  = regex(local.place, var.evidence)
  databases = toset([for descriptor in values(local.descriptors) : descriptor.target.database])
  targets   = { for path, descriptor in local.descriptors : path => regex(local.place, descriptor.target.location) }
}

resource "aws_iam_role" "this" {
  name               = local.name
  description        = "Reads when ${var.domain}'s products were published, and tells their owners. Reads no row."
  assume_role_policy = data.aws_iam_policy_document.trust.json
}

resource "aws_iam_role_policy" "this" {
  name   = "watch"
  role   = aws_iam_role.this.id
  policy = data.aws_iam_policy_document.watch.json
}

# Lake Formation shows a table to whom it is granted, also one that is not there yet. Whoever applies this must be a data
# lake administrator of the account.
resource "aws_lakeformation_permissions" "database" {
  for_each = local.databases

  principal   = aws_iam_role.this.arn
  permissions = ["DESCRIBE"]

  database {
    catalog_id = data.aws_caller_identity.this.account_id
    name       = each.value
  }
}

resource "aws_lakeformation_permissions" "tables" {
  for_each = local.databases

  principal   = aws_iam_role.this.arn
  permissions = ["DESCRIBE"]

  table {
    catalog_id    = data.aws_caller_identity.this.account_id
    database_name = each.value
    wildcard      = true
  }
}

data "aws_iam_policy_document" "trust" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["lambda.amazonaws.com"]
    }
  }
}

data "aws_iam_policy_document" "watch" {
  statement {
    sid = "Products"
    # All of the catalog: a product registers itself, so nobody lists them beforehand.
    actions   = ["glue:GetDatabases", "glue:GetDatabase", "glue:GetTables", "glue:GetTable"]
    resources = ["${local.catalog}:catalog", "${local.catalog}:database/*", "${local.catalog}:table/*/*"]
  }

  statement {
    sid       = "Metadata"
    actions   = ["s3:GetObject"]
    resources = concat(sort([for place in values(local.targets) : "${local.arn}:s3:::${place.bucket}/${place.prefix}/metadata/*"]), sort(tolist(var.further_metadata_arns)))
  }

  statement {
    sid       = "ReadEvidence"
    actions   = ["s3:GetObject"]
    resources = ["${local.arn}:s3:::${local.evidence.bucket}/${local.evidence.prefix}/*"]
  }

  statement {
    sid       = "KeepState"
    actions   = ["s3:PutObject"]
    resources = ["${local.arn}:s3:::${local.evidence.bucket}/${local.evidence.prefix}/freshness/*"]
  }

  statement {
    sid       = "ListEvidence"
    actions   = ["s3:ListBucket"]
    resources = ["${local.arn}:s3:::${local.evidence.bucket}"]
  }

  statement {
    sid       = "Tell"
    actions   = ["sns:Publish"]
    resources = [var.owner_topic_arn]
  }

  statement {
    sid       = "Logs"
    actions   = ["logs:CreateLogStream", "logs:PutLogEvents"]
    resources = ["${local.arn}:logs:${local.here}:log-group:/aws/lambda/${local.name}:*"]
  }

  statement {
    sid = "Trace"
    # X-Ray has no resources in IAM.
    actions   = ["xray:PutTraceSegments", "xray:PutTelemetryRecords"]
    resources = ["*"]
  }

  dynamic "statement" {
    for_each = length(var.data_key_arns) == 0 ? [] : [var.data_key_arns]

    content {
      sid       = "Keys"
      actions   = ["kms:Decrypt", "kms:GenerateDataKey"]
      resources = sort(tolist(statement.value))
    }
  }
}
