# live/prod/domains/fraud/scheduler/terragrunt.hcl — the narrow role that the orchestrator starts fraud's jobs with

include "root" {
  path = find_in_parent_folders("root.hcl")
}

include "scheduler" {
  path = find_in_parent_folders("scheduler_role.hcl")
}
