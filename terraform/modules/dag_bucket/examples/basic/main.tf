provider "aws" {
  region = "eu-central-1"
}

module "dag_bucket" {
  source = "../.."

  bucket_name            = "cordata-airflow-example"
  deployments            = var.deployments
  descriptor_writer_arns = { fraud = "arn:aws:iam::444455556666:role/cordata-fraud-ci-sync" }
  access_log_bucket      = "cordata-access-logs-333344445555"
  force_destroy          = true
}
