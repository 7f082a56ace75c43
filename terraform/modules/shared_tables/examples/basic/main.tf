provider "aws" {
  region = "eu-central-1"
}

module "shared_tables" {
  source = "../.."

  tables = { "fraud_raw.transactions" = var.readers }
}
