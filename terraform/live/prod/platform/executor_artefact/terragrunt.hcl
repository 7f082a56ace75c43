# live/prod/platform/executor_artefact/terragrunt.hcl — where versions of the executor are published

include "root" {
  path = find_in_parent_folders("root.hcl")
}

locals {
  env = read_terragrunt_config(find_in_parent_folders("env.hcl")).locals
}

terraform {
  source = "${get_repo_root()}/terraform/modules//executor_artefact"
}

inputs = {
  bucket_name     = "cordata-artifacts-${local.env.name}"
  publisher_arns  = ["arn:aws:iam::${local.env.accounts.platform}:role/platform-ci"]
  reader_accounts = { for name, domain in local.env.domains : name => domain.account }

  domain_repositories = { for name, domain in local.env.domains : name => domain.repository }
}
