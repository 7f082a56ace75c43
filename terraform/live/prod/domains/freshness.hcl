# What the domains' watches share: each looks at the products of the domain in whose folder it lies.

locals {
  env    = read_terragrunt_config(find_in_parent_folders("env.hcl")).locals
  domain = basename(dirname(get_terragrunt_dir()))
}

terraform {
  source = "${get_repo_root()}/terraform/modules//freshness"
}

dependency "jobs" {
  config_path = ".."
}

inputs = {
  domain          = local.domain
  executor_zip    = "${get_repo_root()}/dist/artefact/pipeline_runtime-${local.env.executor_version}.zip"
  repository_root = get_repo_root()
  descriptors     = values(dependency.jobs.outputs.descriptors)
  evidence        = dependency.jobs.outputs.evidence
  owner_topic_arn = dependency.jobs.outputs.owner_topic_arn
}
