locals {
  # Lake Formation shares a tag with an account through grants on the tag itself; it makes the resource share.
  shares = {
    for pair in setproduct(keys(var.ontology), keys(var.domain_accounts)) :
    "${pair[0]}/${pair[1]}" => { key = pair[0], account = var.domain_accounts[pair[1]] }
    if var.domain_accounts[pair[1]] != data.aws_caller_identity.this.account_id
  }
}

resource "aws_lakeformation_permissions" "share" {
  for_each = local.shares

  principal                     = each.value.account
  permissions                   = ["ASSOCIATE", "DESCRIBE"]
  permissions_with_grant_option = ["ASSOCIATE", "DESCRIBE"]

  lf_tag {
    catalog_id = data.aws_caller_identity.this.account_id
    key        = aws_lakeformation_lf_tag.this[each.value.key].key
    values     = aws_lakeformation_lf_tag.this[each.value.key].values
  }
}
