# live/prod/domains/policy/scheduler/terragrunt.hcl — the narrow role that the orchestrator starts policy's jobs with

include "root" {
  path = find_in_parent_folders("root.hcl")
}

locals {
  env = read_terragrunt_config(find_in_parent_folders("env.hcl")).locals
}

terraform {
  source = "${get_repo_root()}/terraform/modules//scheduler_role"
}

dependency "jobs" {
  config_path = ".."
}

inputs = {
  domain                   = "policy"
  scheduler_principal_arns = ["arn:aws:iam::${local.env.accounts.automation}:role/cordata-orchestrator"]
  job_names                = dependency.jobs.outputs.job_names
}
