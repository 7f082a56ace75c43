# live/prod/automation/orchestrator_role/terragrunt.hcl — who plans and follows, and touches no row

include "root" {
  path = find_in_parent_folders("root.hcl")
}

locals {
  env = read_terragrunt_config(find_in_parent_folders("env.hcl")).locals
}

terraform {
  source = "${get_repo_root()}/terraform/modules//orchestrator_role"
}

inputs = {
  dag_bucket_name     = local.env.dag_bucket
  environment_name    = "cordata-${local.env.name}"
  scheduler_role_arns = { for name, domain in local.env.domains : name => "arn:aws:iam::${domain.account}:role/cordata-${name}-scheduler" }
}
