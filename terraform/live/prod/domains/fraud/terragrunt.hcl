# live/prod/domains/fraud/terragrunt.hcl — transform jobs

include "root" {
  path = find_in_parent_folders("root.hcl")
}

include "jobs" {
  path = find_in_parent_folders("transform_jobs.hcl")
}

inputs = {
  transform_jobs = [
    {
      name                = "transactions_scored_daily"
      descriptor          = "domains/fraud/pipelines/transactions_scored.yml"
      openlineage_enabled = true # attaches the openlineage-spark plugin
      orchestrated        = { schedule = "0 5 * * *" }
    },
  ]
}
