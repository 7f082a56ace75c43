provider "aws" {
  region = "eu-central-1"
}

module "executor_artefact" {
  source = "../.."

  bucket_name       = "cordata-artifacts-example"
  publisher_arns    = ["arn:aws:iam::111122223333:role/platform-ci"]
  reader_accounts   = var.reader_accounts
  access_log_bucket = "cordata-access-logs-111122223333"
  force_destroy     = true
}
