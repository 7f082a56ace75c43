# live/prod/governance/lineage_adapter/terragrunt.hcl — takes everyone's lineage, closes killed runs

include "root" {
  path = find_in_parent_folders("root.hcl")
}

locals {
  env = read_terragrunt_config(find_in_parent_folders("env.hcl")).locals
}

terraform {
  source = "${get_repo_root()}/terraform/modules//lineage_adapter"
}

inputs = {
  datazone_domain_id  = local.env.datazone_domain_id
  adapter_zip         = "${get_repo_root()}/dist/lineage-adapter.zip"
  executor_zip        = "${get_repo_root()}/dist/artefact/pipeline_runtime-${local.env.executor_version}.zip"
  payload_bucket_name = "cordata-lineage-payloads-${local.env.name}"

  domains = {
    for name, domain in local.env.domains : name => {
      account   = domain.account
      job_names = domain.job_names
      evidence  = "s3://${domain.bucket}/evidence"
    }
  }
}
