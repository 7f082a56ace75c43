# live/prod/domains/finance/scheduler/terragrunt.hcl — the narrow role that the orchestrator starts finance's jobs with

include "root" {
  path = find_in_parent_folders("root.hcl")
}

include "scheduler" {
  path = find_in_parent_folders("scheduler_role.hcl")
}
