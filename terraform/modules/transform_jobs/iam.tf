locals {
  account = data.aws_caller_identity.this.account_id
  catalog = "arn:${data.aws_partition.this.partition}:glue:${data.aws_region.this.name}"

  sources = { for name, descriptor in local.descriptors : name => "${descriptor.source.database}.${descriptor.source.table}" }
  targets = { for name, descriptor in local.descriptors : name => descriptor.target }

  # A JDBC source lies in no bucket.
  stored = { for name, descriptor in local.descriptors : name => local.sources[name] if descriptor.source.kind != "jdbc" }

  source_locations = {
    for name, source in local.stored : name => try(
      var.source_locations[source], data.aws_glue_catalog_table.source[name].storage_descriptor[0].location
    )
  }

  # Account, database and table as the owner's catalog has them, beside the link's own.
  catalog_sources = {
    for name, source in local.sources : name => distinct(concat(
      [{ account = local.account, database = split(".", source)[0], table = split(".", source)[1] }],
      [for foreign in [lookup(var.foreign_sources, source, null)] : foreign if foreign != null],
    ))
  }

  # Bucket and prefix of each location, whichever of Hadoop's schemes it is spelled with.
  place          = "^s3[an]?://(?P<bucket>[^/]+)/(?P<prefix>.+?)/?$"
  source_places  = { for name, location in local.source_locations : name => regex(local.place, location) }
  target_places  = { for name, target in local.targets : name => regex(local.place, target.location) }
  artefact_place = regex(local.place, local.artefact)

  working_folders = { iceberg = ["audits"], parquet = ["journals", "superseded"] }

  s3 = "arn:${data.aws_partition.this.partition}:s3:::"
}

data "aws_glue_catalog_table" "source" {
  for_each = { for name, source in local.stored : name => split(".", source) if !contains(keys(var.source_locations), source) }

  database_name = each.value[0]
  name          = each.value[1]
}

data "aws_iam_policy_document" "job_trust" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["glue.amazonaws.com"]
    }
  }
}

resource "aws_iam_role" "job" {
  for_each = local.jobs

  name               = "cordata-${var.domain}-${each.key}"
  description        = "Runs ${each.value.descriptor}: reads its source, writes its target, nothing else."
  assume_role_policy = data.aws_iam_policy_document.job_trust.json
}

resource "aws_iam_role_policy" "job" {
  for_each = local.jobs

  name   = "descriptor"
  role   = aws_iam_role.job[each.key].id
  policy = data.aws_iam_policy_document.job[each.key].json
}

data "aws_iam_policy_document" "job" {
  for_each = local.jobs

  statement {
    sid     = "SourceInTheCatalog"
    actions = ["glue:GetDatabase", "glue:GetTable", "glue:GetTableVersion", "glue:GetPartitions"]
    resources = flatten([for source in local.catalog_sources[each.key] : [
      "${local.catalog}:${source.account}:catalog",
      "${local.catalog}:${source.account}:database/${source.database}",
      "${local.catalog}:${source.account}:table/${source.database}/${source.table}",
    ]])
  }

  statement {
    sid = "TargetInTheCatalog"
    actions = concat(["glue:GetDatabase", "glue:GetTable", "glue:CreateTable", "glue:UpdateTable", "glue:DeleteTable"], local.targets[each.key].kind == "parquet" ? [
      "glue:GetPartitions", "glue:BatchGetPartition", "glue:BatchCreatePartition", "glue:BatchUpdatePartition", "glue:BatchDeletePartition",
    ] : [])
    resources = [
      "${local.catalog}:${local.account}:catalog",
      "${local.catalog}:${local.account}:database/${local.targets[each.key].database}",
      "${local.catalog}:${local.account}:table/${local.targets[each.key].database}/${local.targets[each.key].table}",
      "${local.catalog}:${local.account}:table/${local.targets[each.key].database}/${local.targets[each.key].table}__quarantine",
    ]
  }

  # Before it looks into a table, Iceberg asks the catalog whether its branch or its metadata is a table of that name.
  dynamic "statement" {
    for_each = local.targets[each.key].kind == "iceberg" ? ["${local.catalog}:${local.account}:table/${local.targets[each.key].database}"] : []

    content {
      sid       = "InsideTheTarget"
      actions   = ["glue:GetTable"]
      resources = ["${statement.value}/branch_audit_*", "${statement.value}/entries"]
    }
  }

  # A target's location must hold no other table. What else the account's databases hold, the role does not see.
  statement {
    sid     = "Neighbours"
    actions = ["glue:GetDatabases", "glue:GetTables"]
    resources = [
      "${local.catalog}:${local.account}:catalog",
      "${local.catalog}:${local.account}:database/*",
      "${local.catalog}:${local.account}:table/${local.targets[each.key].database}/*",
    ]
  }

  dynamic "statement" {
    for_each = contains(keys(local.source_places), each.key) ? [local.source_places[each.key]] : []

    content {
      sid       = "SourceFiles"
      actions   = ["s3:GetObject"]
      resources = ["${local.s3}${statement.value.bucket}/${statement.value.prefix}/*"]
    }
  }

  dynamic "statement" {
    for_each = contains(keys(local.source_places), each.key) ? [local.source_places[each.key]] : []

    content {
      sid       = "SourceFolder"
      actions   = ["s3:ListBucket"]
      resources = ["${local.s3}${statement.value.bucket}"]

      condition {
        test     = "StringLike"
        variable = "s3:prefix"
        values   = [statement.value.prefix, "${statement.value.prefix}/*"]
      }
    }
  }

  statement {
    sid = "TargetFiles"
    # Tagging: what a run writes carries its run id, so that a later one tells a killed run's files from live ones.
    actions = ["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload", "s3:GetObjectTagging", "s3:PutObjectTagging"]
    resources = [
      "${local.s3}${local.target_places[each.key].bucket}/${local.target_places[each.key].prefix}/*",
      "${local.s3}${local.target_places[each.key].bucket}/${local.target_places[each.key].prefix}__quarantine/*",
    ]
  }

  statement {
    sid       = "TargetFolder"
    actions   = ["s3:ListBucket"]
    resources = ["${local.s3}${local.target_places[each.key].bucket}"]

    condition {
      test     = "StringLike"
      variable = "s3:prefix"
      values = [
        local.target_places[each.key].prefix, "${local.target_places[each.key].prefix}/*",
        "${local.target_places[each.key].prefix}__quarantine", "${local.target_places[each.key].prefix}__quarantine/*",
      ]
    }
  }

  statement {
    sid       = "Executor"
    actions   = ["s3:GetObject"]
    resources = ["${local.s3}${local.artefact_place.bucket}/${local.artefact_place.prefix}/*"]
  }

  statement {
    sid       = "Configuration"
    actions   = ["s3:GetObject"]
    resources = ["${aws_s3_bucket.this.arn}/config/*"]
  }

  statement {
    sid       = "Evidence"
    actions   = ["s3:GetObject", "s3:PutObject"]
    resources = ["${aws_s3_bucket.this.arn}/evidence/*"]
  }

  statement {
    sid = "WorkingState"
    # Events are never deleted; what a publish notes down for the next one is, when it is settled.
    actions   = ["s3:DeleteObject"]
    resources = [for folder in lookup(local.working_folders, local.targets[each.key].kind, []) : "${aws_s3_bucket.this.arn}/evidence/${folder}/*"]
  }

  statement {
    sid       = "OwnFolders"
    actions   = ["s3:ListBucket"]
    resources = [aws_s3_bucket.this.arn]

    condition {
      test     = "StringLike"
      variable = "s3:prefix"
      values   = ["config/*", "evidence/*"]
    }
  }

  statement {
    sid = "Tags"
    # Lake Formation has no resources in IAM; what a role may tag is granted in Lake Formation.
    actions   = ["lakeformation:GetResourceLFTags", "lakeformation:AddLFTagsToResource", "lakeformation:RemoveLFTagsFromResource", "lakeformation:ListLFTags"]
    resources = ["*"]
  }

  # Where Lake Formation hands out the data of registered locations, it decides by its own grants.
  dynamic "statement" {
    for_each = length(var.registered_locations) > 0 ? [1] : []

    content {
      sid       = "RegisteredData"
      actions   = ["lakeformation:GetDataAccess"]
      resources = ["*"]
    }
  }

  statement {
    sid       = "OwnRuns"
    actions   = ["glue:GetJobRun"]
    resources = ["${local.catalog}:${local.account}:job/${each.key}"]
  }

  statement {
    sid       = "TellTheOwner"
    actions   = ["sns:Publish"]
    resources = [aws_sns_topic.owners.arn]
  }

  statement {
    sid       = "Logs"
    actions   = ["logs:CreateLogStream", "logs:PutLogEvents"]
    resources = ["arn:${data.aws_partition.this.partition}:logs:${data.aws_region.this.name}:${local.account}:log-group:${local.log_groups[each.key]}/*"]
  }

  statement {
    sid       = "Metrics"
    actions   = ["cloudwatch:PutMetricData"]
    resources = ["*"]

    condition {
      test     = "StringEquals"
      variable = "cloudwatch:namespace"
      values   = ["Glue"]
    }
  }

  dynamic "statement" {
    for_each = var.lineage_invoker_role_arn == null ? [] : [var.lineage_invoker_role_arn]

    content {
      sid       = "SignLineage"
      actions   = ["sts:AssumeRole"]
      resources = [statement.value]
    }
  }

  dynamic "statement" {
    for_each = length(each.value.connections) > 0 ? [1] : []

    content {
      sid       = "Connections"
      actions   = ["glue:GetConnection"]
      resources = concat(["${local.catalog}:${local.account}:catalog"], [for connection in each.value.connections : "${local.catalog}:${local.account}:connection/${connection}"])
    }
  }

  dynamic "statement" {
    for_each = length(each.value.secret_arns) > 0 ? [1] : []

    content {
      sid       = "Credentials"
      actions   = ["secretsmanager:GetSecretValue"]
      resources = each.value.secret_arns
    }
  }

  dynamic "statement" {
    for_each = length(var.kms_key_arns) > 0 ? [1] : []

    content {
      sid       = "Keys"
      actions   = ["kms:Decrypt", "kms:GenerateDataKey"]
      resources = var.kms_key_arns
    }
  }
}

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
}

data "aws_iam_policy_document" "topic" {
  statement {
    sid       = "GlueTellsOfFailures"
    actions   = ["sns:Publish"]
    resources = [aws_sns_topic.owners.arn]

    principals {
      type        = "Service"
      identifiers = ["events.amazonaws.com"]
    }

    condition {
      test     = "ArnEquals"
      variable = "aws:SourceArn"
      # Spelled out: the rule changes with the list of jobs, and this policy must not change with it.
      values = ["arn:${data.aws_partition.this.partition}:events:${data.aws_region.this.name}:${local.account}:rule/cordata-${var.domain}-job-failed"]
    }
  }
}

data "aws_iam_policy_document" "events_trust" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["events.amazonaws.com"]
    }
  }
}

resource "aws_iam_role" "events" {
  count = var.governance_event_bus_arn == null ? 0 : 1

  name               = "cordata-${var.domain}-job-events"
  description        = "Passes the ends of ${var.domain}'s jobs on to the closer."
  assume_role_policy = data.aws_iam_policy_document.events_trust.json
}

data "aws_iam_policy_document" "events" {
  count = var.governance_event_bus_arn == null ? 0 : 1

  statement {
    actions   = ["events:PutEvents"]
    resources = [var.governance_event_bus_arn]
  }
}

resource "aws_iam_role_policy" "events" {
  count = var.governance_event_bus_arn == null ? 0 : 1

  name   = "pass-on"
  role   = aws_iam_role.events[0].id
  policy = data.aws_iam_policy_document.events[0].json
}

data "aws_iam_policy_document" "closer_trust" {
  count = var.closer_role_arn == null ? 0 : 1

  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "AWS"
      identifiers = [var.closer_role_arn]
    }
  }
}

resource "aws_iam_role" "closer" {
  count = var.closer_role_arn == null ? 0 : 1

  name               = "cordata-${var.domain}-closer"
  description        = "Lets the closer see how a run ended, and say so where the run could not."
  assume_role_policy = data.aws_iam_policy_document.closer_trust[0].json
}

data "aws_iam_policy_document" "closer" {
  count = var.closer_role_arn == null ? 0 : 1

  statement {
    sid       = "TellTheOwner"
    actions   = ["sns:Publish"]
    resources = [aws_sns_topic.owners.arn]
  }

  statement {
    sid       = "Runs"
    actions   = ["glue:GetJobRun", "glue:GetJobRuns", "glue:GetJob"]
    resources = [for name in keys(local.jobs) : "${local.catalog}:${local.account}:job/${name}"]
  }

  statement {
    sid     = "Targets"
    actions = ["glue:GetTable", "glue:GetPartitions", "glue:BatchGetPartition"]
    resources = concat(["${local.catalog}:${local.account}:catalog"], flatten([for target in values(local.targets) : [
      "${local.catalog}:${local.account}:database/${target.database}",
      "${local.catalog}:${local.account}:table/${target.database}/${target.table}",
      "${local.catalog}:${local.account}:table/${target.database}/${target.table}__quarantine",
    ]]))
  }

  # A parquet publish that stopped halfway is finished: a batch of which a part is shown cannot be called unpublished.
  dynamic "statement" {
    for_each = length([for target in values(local.targets) : target if target.kind == "parquet"]) > 0 ? [1] : []

    content {
      sid     = "Switches"
      actions = ["glue:UpdateTable", "glue:BatchCreatePartition", "glue:BatchUpdatePartition"]
      resources = concat(["${local.catalog}:${local.account}:catalog"], flatten([for target in values(local.targets) : [
        "${local.catalog}:${local.account}:database/${target.database}",
        "${local.catalog}:${local.account}:table/${target.database}/${target.table}",
      ] if target.kind == "parquet"]))
    }
  }

  # What a publish noted down for the next one, and that somebody follows a replication: gone when it is settled.
  statement {
    sid       = "Settled"
    actions   = ["s3:DeleteObject"]
    resources = ["${aws_s3_bucket.this.arn}/evidence/journals/*", "${aws_s3_bucket.this.arn}/evidence/following/*"]
  }

  statement {
    sid       = "Metadata"
    actions   = ["s3:GetObject"]
    resources = flatten([for place in values(local.target_places) : ["${local.s3}${place.bucket}/${place.prefix}/metadata/*", "${local.s3}${place.bucket}/${place.prefix}__quarantine/metadata/*"]])
  }

  statement {
    sid       = "Evidence"
    actions   = ["s3:GetObject", "s3:PutObject"]
    resources = ["${aws_s3_bucket.this.arn}/evidence/*"]
  }

  statement {
    sid       = "EvidenceFolder"
    actions   = ["s3:ListBucket"]
    resources = [aws_s3_bucket.this.arn]

    condition {
      test     = "StringLike"
      variable = "s3:prefix"
      values   = ["evidence/*"]
    }
  }

  dynamic "statement" {
    for_each = length(var.kms_key_arns) > 0 ? [1] : []

    content {
      sid       = "Keys"
      actions   = ["kms:Decrypt", "kms:GenerateDataKey"]
      resources = var.kms_key_arns
    }
  }
}

resource "aws_iam_role_policy" "closer" {
  count = var.closer_role_arn == null ? 0 : 1

  name   = "close"
  role   = aws_iam_role.closer[0].id
  policy = data.aws_iam_policy_document.closer[0].json
}
