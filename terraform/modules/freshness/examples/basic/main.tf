provider "aws" {
  region = "eu-central-1"
}

module "freshness" {
  source = "../.."

  domain          = "fraud"
  executor_zip    = var.executor_zip
  repository_root = "../../../../.."
  descriptors     = var.descriptors
  evidence        = "s3://cordata-fraud-pipelines-example/evidence"
  owner_topic_arn = "arn:aws:sns:eu-central-1:444455556666:cordata-fraud-owners"
  alarm_topic_arn = "arn:aws:sns:eu-central-1:444455556666:platform-alarms"
}
