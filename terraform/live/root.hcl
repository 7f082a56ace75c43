# What every unit shares: where its state is kept, and as whom and where it is applied.

locals {
  env = read_terragrunt_config(find_in_parent_folders("env.hcl")).locals
  # The folder below the environment says whose account it is: platform, governance, automation, or a domain's.
  path    = split("/", path_relative_to_include())
  account = local.path[1] == "domains" ? local.env.domains[local.path[2]].account : local.env.accounts[local.path[1]]
}

remote_state {
  backend = "s3"

  generate = {
    path      = "backend.tf"
    if_exists = "overwrite_terragrunt"
  }

  config = {
    bucket       = "cordata-terraform-state-${local.account}"
    key          = "${path_relative_to_include()}/terraform.tfstate"
    region       = local.env.region
    encrypt      = true
    use_lockfile = true
  }
}

generate "provider" {
  path      = "provider.tf"
  if_exists = "overwrite_terragrunt"
  contents  = <<-EOF
    provider "aws" {
      region              = "${local.env.region}"
      allowed_account_ids = ["${local.account}"]

      assume_role {
        role_arn = "arn:aws:iam::${local.account}:role/deployer"
      }

      default_tags {
        tags = { platform = "cordata", environment = "${local.env.name}" }
      }
    }
  EOF
}
