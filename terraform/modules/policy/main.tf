data "aws_caller_identity" "this" {}

resource "aws_lakeformation_lf_tag" "this" {
  for_each = var.ontology

  catalog_id = data.aws_caller_identity.this.account_id
  key        = each.key
  values     = each.value
}
