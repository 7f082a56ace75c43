# live/prod/domains/policy/terragrunt.hcl — transform jobs

include "root" {
  path = find_in_parent_folders("root.hcl")
}

locals {
  env = read_terragrunt_config(find_in_parent_folders("env.hcl")).locals
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
  transform_jobs = [
    {
      name                = "claims_ingest_hourly"
      descriptor          = "domains/policy/pipelines/claims_ingest.yml"
      openlineage_enabled = true # attaches the openlineage-spark plugin
    },
  ]

  domain           = "policy"
  bucket_name      = local.env.domains.policy.bucket
  executor_version = local.env.executor_version
  applied_from     = "terraform/live/prod/domains/policy"
  repository_root  = get_repo_root()

  artefact_location        = dependency.artefact.outputs.location
  governance_catalog_id    = dependency.policy.outputs.catalog_id
  lineage_url              = dependency.adapter.outputs.lineage_url
  lineage_invoker_role_arn = dependency.adapter.outputs.invoker_role_arns["policy"]
  closer_role_arn          = dependency.adapter.outputs.closer_role_arns["policy"]
  governance_event_bus_arn = dependency.adapter.outputs.event_bus_arn
}
