provider "aws" {
  region = "eu-central-1"
}

module "ingestion" {
  source = "../.."

  domain                = "policy"
  landing_bucket_name   = "cordata-policy-raw-eu-central-1"
  database              = "policy_raw"
  governance_catalog_id = "222233334444"
  kms_key_arn           = "arn:aws:kms:eu-central-1:555566667777:key/1234abcd-12ab-34cd-56ef-1234567890ab"
  subnet_ids            = ["subnet-0123456789abcdef0", "subnet-0fedcba9876543210"]
  security_group_ids    = ["sg-0123456789abcdef0"]

  source_system = {
    engine        = "aurora-postgresql"
    database_name = "claims"
    secret_arn    = "arn:aws:secretsmanager:eu-central-1:555566667777:secret:claims-reader-AbCdEf"
  }

  ingest = {
    evidence                 = "s3://cordata-policy-pipelines-example/evidence"
    lineage_invoker_role_arn = "arn:aws:iam::222233334444:role/cordata-policy-lineage"
    role_arns                = ["arn:aws:iam::555566667777:role/cordata-policy-scheduler"]
  }

  access_log_bucket = "cordata-access-logs-555566667777"
  force_destroy     = true

  tables = var.tables
}
