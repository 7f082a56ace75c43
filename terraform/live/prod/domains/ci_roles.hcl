# What the domains' CI roles share: each is of the domain in whose folder it lies.

locals {
  env    = read_terragrunt_config(find_in_parent_folders("env.hcl")).locals
  domain = basename(dirname(get_terragrunt_dir()))
}

terraform {
  source = "${get_repo_root()}/terraform/modules//ci_roles"
}

dependency "artefact" {
  config_path = "../../../platform/executor_artefact"
}

dependency "jobs" {
  config_path = ".."
}

inputs = {
  domain            = local.domain
  oidc_provider_arn = "arn:aws:iam::${local.env.domains[local.domain].account}:oidc-provider/token.actions.githubusercontent.com"
  repository        = local.env.domains[local.domain].repository
  artefact_location = dependency.artefact.outputs.location
  config            = dependency.jobs.outputs.config
  dags              = "s3://${local.env.dag_bucket}/dags/domains/${local.domain}/pipelines"
}
