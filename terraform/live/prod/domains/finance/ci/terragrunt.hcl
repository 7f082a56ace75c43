# live/prod/domains/finance/ci/terragrunt.hcl — what finance's repository may do here, on a pull request and on merge

include "root" {
  path = find_in_parent_folders("root.hcl")
}

include "roles" {
  path = find_in_parent_folders("ci_roles.hcl")
}
