provider "aws" {
  region = "eu-central-1"
}

module "policy" {
  source = "../.."

  ontology = {
    sensitivity  = ["low", "medium", "high"]
    residency    = ["eu", "ch"]
    subject_type = ["customer", "merchant", "none"]
  }

  domain_accounts = var.domain_accounts
}
