# live/prod/governance/policy/terragrunt.hcl — the LF-tag ontology, shared with every domain

include "root" {
  path = find_in_parent_folders("root.hcl")
}

locals {
  env = read_terragrunt_config(find_in_parent_folders("env.hcl")).locals
}

terraform {
  source = "${get_repo_root()}/terraform/modules//policy"
}

inputs = {
  ontology = {
    sensitivity  = ["low", "medium", "high"]
    residency    = ["eu", "ch"]
    subject_type = ["customer", "merchant", "none"]
  }

  domain_accounts = { for name, domain in local.env.domains : name => domain.account }
}
