# live/prod/domains/finance/freshness/terragrunt.hcl — tells finance's owners when a product is late

include "root" {
  path = find_in_parent_folders("root.hcl")
}

include "freshness" {
  path = find_in_parent_folders("freshness.hcl")
}
