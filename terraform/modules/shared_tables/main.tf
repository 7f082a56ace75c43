data "aws_caller_identity" "this" {}

locals {
  places = { for table in keys(var.tables) : table => { database = split(".", table)[0], name = split(".", table)[1] } }
}

# A share of a table that is not there is refused here, by its name, and its location is what a reader's role opens.
data "aws_glue_catalog_table" "this" {
  for_each = local.places

  database_name = each.value.database
  name          = each.value.name
}
