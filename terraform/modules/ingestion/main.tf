data "aws_caller_identity" "this" {}

locals {
  selections = [
    for index, name in sort(keys(var.tables)) : {
      rule-type      = "selection"
      rule-id        = tostring(index + 1)
      rule-name      = "select-${name}"
      rule-action    = "include"
      object-locator = { schema-name = var.tables[name].schema, table-name = var.tables[name].table }
    }
  ]
  # The source's order of changes: without it, two changes of a row in one commit could not be told apart.
  sequences = [
    for index, name in sort(keys(var.tables)) : {
      rule-type      = "transformation"
      rule-id        = tostring(length(var.tables) + index + 1)
      rule-name      = "sequence-${name}"
      rule-target    = "column"
      rule-action    = "add-column"
      object-locator = { schema-name = var.tables[name].schema, table-name = var.tables[name].table }
      value          = "cdc_sequence"
      expression     = "$AR_H_CHANGE_SEQ"
      data-type      = { type = "string", length = 50 }
    }
  ]
}

resource "aws_s3_bucket" "landing" {
  #checkov:skip=CKV2_AWS_62:The scheduler starts what reads a batch; nothing reacts to single files.
  #checkov:skip=CKV_AWS_144:Rows stay in the region that their residency tag names; the source system can land them again.
  bucket        = var.landing_bucket_name
  force_destroy = var.force_destroy
}

resource "aws_s3_bucket_versioning" "landing" {
  bucket = aws_s3_bucket.landing.id

  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "landing" {
  bucket = aws_s3_bucket.landing.id

  rule {
    bucket_key_enabled = true

    apply_server_side_encryption_by_default {
      sse_algorithm     = "aws:kms"
      kms_master_key_id = var.kms_key_arn
    }
  }
}

resource "aws_s3_bucket_public_access_block" "landing" {
  bucket = aws_s3_bucket.landing.id

  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_policy" "landing" {
  bucket = aws_s3_bucket.landing.id
  policy = data.aws_iam_policy_document.bucket.json

  depends_on = [aws_s3_bucket_public_access_block.landing]
}

resource "aws_s3_bucket_logging" "landing" {
  count = var.access_log_bucket == null ? 0 : 1

  bucket        = aws_s3_bucket.landing.id
  target_bucket = var.access_log_bucket
  target_prefix = "${aws_s3_bucket.landing.id}/"
}

resource "aws_s3_bucket_lifecycle_configuration" "landing" {
  count  = var.landing_retention_days == null ? 0 : 1
  bucket = aws_s3_bucket.landing.id

  rule {
    id     = "retention"
    status = "Enabled"

    filter {}

    expiration {
      days = var.landing_retention_days
    }

    noncurrent_version_expiration {
      noncurrent_days = 1
    }

    abort_incomplete_multipart_upload {
      days_after_initiation = 1
    }
  }
}

resource "aws_glue_catalog_database" "this" {
  name        = var.database
  description = "What the replication of ${var.domain}'s source system lands."
}

resource "aws_glue_catalog_table" "this" {
  for_each = var.tables

  database_name = aws_glue_catalog_database.this.name
  name          = each.key
  table_type    = "EXTERNAL_TABLE"

  parameters = {
    EXTERNAL                = "TRUE"
    classification          = "parquet"
    "cordata.primary_keys"  = join(",", each.value.primary_keys)
    "cordata.cdc_timestamp" = "cdc_commit_ts"
    "cordata.cdc_sequence"  = "cdc_sequence"
    "cordata.domain"        = var.domain
  }

  storage_descriptor {
    location      = "s3://${aws_s3_bucket.landing.id}/${each.value.schema}/${each.value.table}/"
    input_format  = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat"
    output_format = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat"

    ser_de_info {
      serialization_library = "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"
    }

    dynamic "columns" {
      # What DMS adds to a row (op, commit time, sequence) belongs to the change log: Parameters name it, no pin has it.
      for_each = each.value.columns

      content {
        name = columns.value.name
        type = columns.value.type
      }
    }
  }

  lifecycle {
    # Producers publish schema versions with `publish-schema`, and `ingest` names the run that landed a batch; applying
    # again must not take either back.
    ignore_changes = [
      storage_descriptor[0].columns, parameters["cordata.published_by"], parameters["cordata.published_release"], parameters["cordata.replication_run"],
    ]
  }
}

resource "aws_lakeformation_resource" "landing" {
  arn      = aws_s3_bucket.landing.arn
  role_arn = aws_iam_role.registration.arn
  # Jobs read with their own role's rights as well: full-table access, never fine-grained mode.
  hybrid_access_enabled = true
}

resource "aws_lakeformation_resource_lf_tag" "this" {
  for_each = merge([for name, table in var.tables : { for key, value in table.lf_tags : "${name}/${key}" => { table = name, key = key, value = value } }]...)

  # The provider does not send the tag's own catalog: the request's counts for the tag, the table's for the table.
  catalog_id = var.governance_catalog_id

  table {
    catalog_id    = data.aws_caller_identity.this.account_id
    database_name = aws_glue_catalog_database.this.name
    name          = aws_glue_catalog_table.this[each.value.table].name
  }

  lf_tag {
    catalog_id = var.governance_catalog_id
    key        = each.value.key
    value      = each.value.value
  }
}

resource "aws_dms_replication_subnet_group" "this" {
  replication_subnet_group_id          = "cordata-${var.domain}"
  replication_subnet_group_description = "Where ${var.domain}'s replication runs."
  subnet_ids                           = var.subnet_ids
}

resource "aws_dms_replication_instance" "this" {
  replication_instance_id      = "cordata-${var.domain}"
  replication_instance_class   = var.instance_class
  engine_version               = var.engine_version
  allocated_storage            = var.instance_storage_gb
  replication_subnet_group_id  = aws_dms_replication_subnet_group.this.id
  vpc_security_group_ids       = var.security_group_ids
  kms_key_arn                  = var.kms_key_arn
  publicly_accessible          = false
  auto_minor_version_upgrade   = true
  preferred_maintenance_window = "sun:03:00-sun:04:00"
}

resource "aws_dms_endpoint" "source" {
  endpoint_id                     = "cordata-${var.domain}-source"
  endpoint_type                   = "source"
  engine_name                     = var.source_system.engine
  database_name                   = var.source_system.database_name
  secrets_manager_arn             = var.source_system.secret_arn
  secrets_manager_access_role_arn = aws_iam_role.source.arn
  kms_key_arn                     = var.kms_key_arn
  ssl_mode                        = var.source_system.ssl_mode
}

resource "aws_dms_s3_endpoint" "landing" {
  endpoint_id                       = "cordata-${var.domain}-landing"
  endpoint_type                     = "target"
  bucket_name                       = aws_s3_bucket.landing.id
  service_access_role_arn           = aws_iam_role.landing.arn
  kms_key_arn                       = var.kms_key_arn
  encryption_mode                   = "SSE_KMS"
  server_side_encryption_kms_key_id = var.kms_key_arn
  data_format                       = "parquet"
  parquet_version                   = "parquet-2-0"
  # Milliseconds: bare 64-bit numbers of microseconds are what engines read as years in the far future.
  parquet_timestamp_in_millisecond = true
  timestamp_column_name            = "cdc_commit_ts"
  include_op_for_full_load         = true
  # Files that hold part of a transaction would let a run see half of it.
  preserve_transactions  = false
  cdc_min_file_size      = 32000
  cdc_max_batch_interval = 60
}

resource "aws_dms_replication_task" "this" {
  replication_task_id      = "cordata-${var.domain}"
  migration_type           = "full-load-and-cdc"
  replication_instance_arn = aws_dms_replication_instance.this.replication_instance_arn
  source_endpoint_arn      = aws_dms_endpoint.source.endpoint_arn
  target_endpoint_arn      = aws_dms_s3_endpoint.landing.endpoint_arn
  table_mappings           = jsonencode({ rules = concat(local.selections, local.sequences) })
  # Started by the ingestion's scheduler, which records each start as a run; applying starts nothing.
  start_replication_task = false

  replication_task_settings = jsonencode({
    TargetMetadata = { SupportLobs = true, LimitedSizeLobMode = true, LobMaxSize = 32 }
    Logging        = { EnableLogging = true }
    ErrorBehavior  = { DataErrorPolicy = "SUSPEND_TABLE", TableErrorPolicy = "SUSPEND_TABLE", ApplyErrorUpdatePolicy = "LOG_ERROR" }
  })
}
