# What the domains' jobs share; a domain's own terragrunt.hcl names its jobs, and the tables of others that they read.

locals {
  env    = read_terragrunt_config(find_in_parent_folders("env.hcl")).locals
  domain = basename(get_terragrunt_dir())
}

terraform {
  source = "${get_repo_root()}/terraform/modules//transform_jobs"
}

dependency "artefact" {
  config_path = "../../platform/executor_artefact"
}

dependency "policy" {
  config_path = "../../governance/policy"
}

dependency "adapter" {
  config_path = "../../governance/lineage_adapter"
}

inputs = {
  domain           = local.domain
  bucket_name      = local.env.domains[local.domain].bucket
  executor_version = local.env.executor_version
  applied_from     = "terraform/live/${local.env.name}/domains/${local.domain}"
  repository_root  = get_repo_root()

  artefact_location        = dependency.artefact.outputs.location
  governance_catalog_id    = dependency.policy.outputs.catalog_id
  lineage_url              = dependency.adapter.outputs.lineage_url
  lineage_invoker_role_arn = dependency.adapter.outputs.invoker_role_arns[local.domain]
  closer_role_arn          = dependency.adapter.outputs.closer_role_arns[local.domain]
  governance_event_bus_arn = dependency.adapter.outputs.event_bus_arn
}
