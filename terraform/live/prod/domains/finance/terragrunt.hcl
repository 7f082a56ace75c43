# live/prod/domains/finance/terragrunt.hcl — transform jobs

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
      name                = "merchant_settlement_daily"
      descriptor          = "domains/finance/pipelines/merchant_settlement_daily.yml"
      openlineage_enabled = true # attaches the openlineage-spark plugin
    },
  ]

  domain           = "finance"
  bucket_name      = local.env.domains.finance.bucket
  executor_version = local.env.executor_version
  applied_from     = "terraform/live/prod/domains/finance"
  repository_root  = get_repo_root()

  # fraud owns the table; finance reads it through a grant and a resource link of the same name.
  foreign_sources  = { "fraud_raw.transactions" = { account = local.env.domains.fraud.account, database = "fraud_raw", table = "transactions" } }
  source_locations = { "fraud_raw.transactions" = "s3://cordata-fraud-raw-eu-central-1/transactions/" }

  artefact_location        = dependency.artefact.outputs.location
  governance_catalog_id    = dependency.policy.outputs.catalog_id
  lineage_url              = dependency.adapter.outputs.lineage_url
  lineage_invoker_role_arn = dependency.adapter.outputs.invoker_role_arns["finance"]
  closer_role_arn          = dependency.adapter.outputs.closer_role_arns["finance"]
  governance_event_bus_arn = dependency.adapter.outputs.event_bus_arn
}
