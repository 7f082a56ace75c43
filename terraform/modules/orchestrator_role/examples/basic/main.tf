provider "aws" {
  region = "eu-central-1"
}

module "orchestrator_role" {
  source = "../.."

  scheduler_role_arns = var.scheduler_role_arns
}
