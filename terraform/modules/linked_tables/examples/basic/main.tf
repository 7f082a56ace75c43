provider "aws" {
  region = "eu-central-1"
}

module "linked_tables" {
  source = "../.."

  tables = var.tables
}
