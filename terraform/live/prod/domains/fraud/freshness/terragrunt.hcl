# live/prod/domains/fraud/freshness/terragrunt.hcl — tells fraud's owners when a product is late

include "root" {
  path = find_in_parent_folders("root.hcl")
}

include "freshness" {
  path = find_in_parent_folders("freshness.hcl")
}
