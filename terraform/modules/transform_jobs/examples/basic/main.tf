provider "aws" {
  region = "eu-central-1"
}

module "transform_jobs" {
  source = "../.."

  domain                   = "fraud"
  repository_root          = "../../../../.."
  artefact_location        = "s3://cordata-artifacts/pipeline-runtime"
  executor_version         = "0.1.0"
  bucket_name              = "cordata-fraud-pipelines-example"
  lineage_url              = "https://lineage-adapter.cordata.example/lineage"
  lineage_invoker_role_arn = "arn:aws:iam::222233334444:role/cordata-fraud-lineage"
  governance_catalog_id    = "222233334444"
  governance_event_bus_arn = "arn:aws:events:eu-central-1:222233334444:event-bus/cordata-jobs"
  closer_role_arn          = "arn:aws:iam::222233334444:role/cordata-closer"
  source_locations         = { "fraud_raw.transactions" = "s3://cordata-fraud-raw-eu-central-1/transactions/" }
  owner_emails             = ["fraud-data@cordata.example"]
  access_log_bucket        = "cordata-access-logs-444455556666"
  force_destroy            = true
  transform_jobs           = var.transform_jobs
}
