locals {
  grants = merge([
    for table, consumers in var.tables : {
      for consumer, account in consumers : "${table}/${consumer}" => { place = local.places[table], account = account }
    }
  ]...)
}

# The account passes it on to the roles of its own jobs; which of them read, its own Terraform says.
resource "aws_lakeformation_permissions" "this" {
  for_each = local.grants

  principal                     = each.value.account
  permissions                   = ["DESCRIBE", "SELECT"]
  permissions_with_grant_option = ["DESCRIBE", "SELECT"]

  table {
    catalog_id    = data.aws_caller_identity.this.account_id
    database_name = each.value.place.database
    name          = each.value.place.name
  }

  depends_on = [data.aws_glue_catalog_table.this]
}
