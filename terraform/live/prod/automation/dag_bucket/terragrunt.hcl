# live/prod/automation/dag_bucket/terragrunt.hcl — what the orchestrator reads: descriptors, and dags/deployment.json

include "root" {
  path = find_in_parent_folders("root.hcl")
}

locals {
  env = read_terragrunt_config(find_in_parent_folders("env.hcl")).locals
}

terraform {
  source = "${get_repo_root()}/terraform/modules//dag_bucket"
}

# One a domain of env.hcl: a domain's account says what is its, and writes nothing here.
dependency "fraud" {
  config_path = "../../domains/fraud/scheduler"
}

dependency "policy" {
  config_path = "../../domains/policy/scheduler"
}

dependency "finance" {
  config_path = "../../domains/finance/scheduler"
}

inputs = {
  bucket_name = local.env.dag_bucket

  deployments = {
    fraud   = dependency.fraud.outputs.deployment
    policy  = dependency.policy.outputs.deployment
    finance = dependency.finance.outputs.deployment
  }

  descriptor_writer_arns = { for name, domain in local.env.domains : name => "arn:aws:iam::${domain.account}:role/cordata-${name}-ci-sync" }
}
