# live/prod/domains/finance/links/terragrunt.hcl — the tables of other domains that finance reads

include "root" {
  path = find_in_parent_folders("root.hcl")
}

terraform {
  source = "${get_repo_root()}/terraform/modules//linked_tables"
}

dependency "fraud" {
  config_path = "../../fraud/shares"
}

inputs = {
  tables = { "fraud_raw.transactions" = dependency.fraud.outputs.tables["fraud_raw.transactions"] }
}
