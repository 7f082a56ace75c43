# What `python -m pipeline_runtime ingest` may do: start and follow this task, read its counters, name its run on the
# landing tables, keep evidence, sign lineage. It reads no landed row.

data "aws_partition" "this" {}

data "aws_region" "this" {}

locals {
  ingest   = var.ingest == null ? {} : { this = var.ingest }
  account  = data.aws_caller_identity.this.account_id
  arn      = "arn:${data.aws_partition.this.partition}"
  catalog  = "${local.arn}:glue:${data.aws_region.this.name}:${local.account}"
  kept_in  = ["following", "ingestion", "runs"]
  evidence = { for key, ingest in local.ingest : key => regex("^s3://(?P<bucket>[^/]+)/(?P<prefix>.*[^/])$", ingest.evidence) }
}

resource "aws_iam_role" "ingest" {
  for_each = local.ingest

  name               = "cordata-${var.domain}-ingest"
  description        = "Starts and follows ${var.domain}'s replication, and tells of its batches. Reads no landed row."
  assume_role_policy = data.aws_iam_policy_document.ingest_trust["this"].json
}

resource "aws_iam_role_policy" "ingest" {
  for_each = local.ingest

  name   = "ingest"
  role   = aws_iam_role.ingest["this"].id
  policy = data.aws_iam_policy_document.ingest["this"].json
}

data "aws_iam_policy_document" "ingest_trust" {
  for_each = local.ingest

  # A trust names roles that must exist; the account with a condition does not have to wait for them.
  dynamic "statement" {
    for_each = length(each.value.role_arns) == 0 ? [] : [each.value.role_arns]

    content {
      actions = ["sts:AssumeRole"]

      principals {
        type        = "AWS"
        identifiers = ["${local.arn}:iam::${local.account}:root"]
      }

      condition {
        test     = "ArnEquals"
        variable = "aws:PrincipalArn"
        values   = sort(tolist(statement.value))
      }
    }
  }

  dynamic "statement" {
    for_each = length(each.value.services) == 0 ? [] : [each.value.services]

    content {
      actions = ["sts:AssumeRole"]

      principals {
        type        = "Service"
        identifiers = sort(tolist(statement.value))
      }

      condition {
        test     = "StringEquals"
        variable = "aws:SourceAccount"
        values   = [local.account]
      }
    }
  }
}

data "aws_iam_policy_document" "ingest" {
  for_each = local.ingest

  statement {
    sid = "FindTheTask"
    # What lists has no resources in DMS.
    actions   = ["dms:DescribeReplicationTasks", "dms:DescribeEndpoints"]
    resources = ["*"]
  }

  statement {
    sid       = "StartAndCount"
    actions   = concat(["dms:StartReplicationTask", "dms:DescribeTableStatistics"], each.value.may_stop ? ["dms:StopReplicationTask"] : [])
    resources = [aws_dms_replication_task.this.replication_task_arn]
  }

  statement {
    sid = "HostAndPort"
    # Where the source has a secret, DMS does not tell of its host; nothing else of the secret is used.
    actions   = ["secretsmanager:GetSecretValue"]
    resources = [var.source_system.secret_arn]
  }

  statement {
    sid       = "FindLandingTables"
    actions   = ["glue:GetDatabase", "glue:GetTables"]
    resources = ["${local.catalog}:catalog", "${local.catalog}:database/${var.database}", "${local.catalog}:table/${var.database}/*"]
  }

  statement {
    sid     = "NameTheRun"
    actions = ["glue:GetTable", "glue:UpdateTable"]
    resources = concat(
      ["${local.catalog}:catalog", "${local.catalog}:database/${var.database}"],
      [for name in sort(keys(var.tables)) : "${local.catalog}:table/${var.database}/${name}"],
    )
  }

  statement {
    sid       = "Evidence"
    actions   = ["s3:GetObject", "s3:PutObject"]
    resources = [for folder in local.kept_in : "${local.arn}:s3:::${local.evidence["this"].bucket}/${local.evidence["this"].prefix}/${folder}/*"]
  }

  statement {
    sid = "NoLongerThere"
    # That it follows the task is taken back at the end; no event ever is.
    actions   = ["s3:DeleteObject"]
    resources = ["${local.arn}:s3:::${local.evidence["this"].bucket}/${local.evidence["this"].prefix}/following/*"]
  }

  statement {
    sid       = "OwnFolders"
    actions   = ["s3:ListBucket"]
    resources = ["${local.arn}:s3:::${local.evidence["this"].bucket}"]

    condition {
      test     = "StringLike"
      variable = "s3:prefix"
      values   = [for folder in local.kept_in : "${local.evidence["this"].prefix}/${folder}/*"]
    }
  }

  dynamic "statement" {
    for_each = each.value.lineage_invoker_role_arn == null ? [] : [each.value.lineage_invoker_role_arn]

    content {
      sid       = "SignLineage"
      actions   = ["sts:AssumeRole"]
      resources = [statement.value]
    }
  }

  dynamic "statement" {
    for_each = length(each.value.evidence_key_arns) == 0 ? [] : [each.value.evidence_key_arns]

    content {
      sid       = "Keys"
      actions   = ["kms:Decrypt", "kms:GenerateDataKey"]
      resources = sort(tolist(statement.value))
    }
  }
}

resource "aws_lakeformation_permissions" "ingest_database" {
  for_each = local.ingest

  principal   = aws_iam_role.ingest["this"].arn
  permissions = ["DESCRIBE"]

  database {
    catalog_id = local.account
    name       = aws_glue_catalog_database.this.name
  }
}

# No SELECT: it names a run on a table, and reads nothing that lies in it.
resource "aws_lakeformation_permissions" "ingest_table" {
  for_each = var.ingest == null ? {} : var.tables

  principal   = aws_iam_role.ingest["this"].arn
  permissions = ["ALTER", "DESCRIBE"]

  table {
    catalog_id    = local.account
    database_name = aws_glue_catalog_database.this.name
    name          = aws_glue_catalog_table.this[each.key].name
  }
}

# A table over a registered location is altered by who may have tables there; no data comes with it.
resource "aws_lakeformation_permissions" "ingest_location" {
  for_each = local.ingest

  principal   = aws_iam_role.ingest["this"].arn
  permissions = ["DATA_LOCATION_ACCESS"]

  data_location {
    catalog_id = local.account
    arn        = aws_lakeformation_resource.landing.arn
  }
}
