# live/prod/domains/policy/terragrunt.hcl — transform jobs

include "root" {
  path = find_in_parent_folders("root.hcl")
}

include "jobs" {
  path = find_in_parent_folders("transform_jobs.hcl")
}

inputs = {
  transform_jobs = [
    {
      name                = "claims_ingest_hourly"
      descriptor          = "domains/policy/pipelines/claims_ingest.yml"
      openlineage_enabled = true # attaches the openlineage-spark plugin
      orchestrated        = { schedule = "0 * * * *" }
    },
  ]
}
