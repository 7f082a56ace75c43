data "aws_caller_identity" "this" {}

locals {
  places    = { for link in keys(var.tables) : link => { database = split(".", link)[0], name = split(".", link)[1] } }
  databases = setsubtract([for place in local.places : place.database], var.existing_databases)
}

resource "aws_glue_catalog_database" "this" {
  for_each = local.databases

  name        = each.value
  description = "Links to tables of other accounts."
}

resource "aws_glue_catalog_table" "this" {
  for_each = local.places

  database_name = each.value.database
  name          = each.value.name

  target_table {
    catalog_id    = var.tables[each.key].account
    database_name = var.tables[each.key].database
    name          = var.tables[each.key].table
  }

  lifecycle {
    # A link shows its target's columns and Parameters to whoever may see them; they are not ours to change.
    ignore_changes = [description, owner, parameters, partition_keys, retention, storage_descriptor, table_type, view_expanded_text, view_original_text]

    precondition {
      condition     = var.tables[each.key].account != data.aws_caller_identity.this.account_id
      error_message = "${each.key} is this account's own table; it needs no link."
    }
  }

  depends_on = [aws_glue_catalog_database.this]
}
