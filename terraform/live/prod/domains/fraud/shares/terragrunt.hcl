# live/prod/domains/fraud/shares/terragrunt.hcl — fraud's tables that other domains read

include "root" {
  path = find_in_parent_folders("root.hcl")
}

locals {
  env = read_terragrunt_config(find_in_parent_folders("env.hcl")).locals
}

terraform {
  source = "${get_repo_root()}/terraform/modules//shared_tables"
}

inputs = {
  tables = { "fraud_raw.transactions" = { finance = local.env.domains.finance.account } }
}
