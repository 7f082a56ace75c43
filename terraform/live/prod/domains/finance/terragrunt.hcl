# live/prod/domains/finance/terragrunt.hcl — transform jobs

include "root" {
  path = find_in_parent_folders("root.hcl")
}

include "jobs" {
  path = find_in_parent_folders("transform_jobs.hcl")
}

# fraud owns the table that finance reads, through a grant and a link of the same name.
dependency "links" {
  config_path = "links"
}

inputs = {
  transform_jobs = [
    {
      name                = "merchant_settlement_daily"
      descriptor          = "domains/finance/pipelines/merchant_settlement_daily.yml"
      openlineage_enabled = true # attaches the openlineage-spark plugin
      orchestrated        = { schedule = "30 5 * * *" }
    },
  ]

  foreign_sources  = dependency.links.outputs.foreign_sources
  source_locations = dependency.links.outputs.source_locations
}
