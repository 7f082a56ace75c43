provider "aws" {
  region = "eu-central-1"
}

module "scheduler_role" {
  source = "../.."

  domain                   = "fraud"
  scheduler_principal_arns = ["arn:aws:iam::333344445555:role/orchestrator"]
  job_names                = var.job_names
}
