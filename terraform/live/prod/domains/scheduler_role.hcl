# What the domains' schedulers share: each starts the jobs of the domain in whose folder it lies.

locals {
  env    = read_terragrunt_config(find_in_parent_folders("env.hcl")).locals
  domain = basename(dirname(get_terragrunt_dir()))
}

terraform {
  source = "${get_repo_root()}/terraform/modules//scheduler_role"
}

dependency "jobs" {
  config_path = ".."
}

# A trust names roles that must exist.
dependency "orchestrator" {
  config_path = "../../../automation/orchestrator_role"
}

inputs = {
  domain                   = local.domain
  scheduler_principal_arns = [dependency.orchestrator.outputs.role_arn]
  job_names                = dependency.jobs.outputs.job_names
  orchestrated_jobs        = dependency.jobs.outputs.orchestrated_jobs
}
