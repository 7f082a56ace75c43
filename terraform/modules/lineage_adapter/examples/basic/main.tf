provider "aws" {
  region = "eu-central-1"
}

module "lineage_adapter" {
  source = "../.."

  datazone_domain_id  = "dzd_4x1abcdefghij"
  adapter_zip         = var.adapter_zip
  executor_zip        = var.executor_zip
  payload_bucket_name = "cordata-lineage-payloads-example"
  stream_enabled      = true
  alarm_topic_arn     = "arn:aws:sns:eu-central-1:222233334444:platform-alarms"
  kms_key_arn         = "arn:aws:kms:eu-central-1:222233334444:key/1234abcd-12ab-34cd-56ef-1234567890ab"
  access_log_bucket   = "cordata-access-logs-222233334444"
  force_destroy       = true
  domains             = var.domains
}
