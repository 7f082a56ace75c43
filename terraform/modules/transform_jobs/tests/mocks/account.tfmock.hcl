mock_data "aws_caller_identity" {
  defaults = { account_id = "444455556666" }
}
mock_data "aws_partition" {
  defaults = { partition = "aws" }
}
mock_data "aws_region" {
  defaults = { name = "eu-central-1" }
}
mock_data "aws_iam_policy_document" {
  defaults = { json = "{}" }
}
mock_data "aws_glue_catalog_table" {
  defaults = { storage_descriptor = [{ location = "s3://cordata-fraud-raw-eu-central-1/transactions/" }] }
}
mock_resource "aws_s3_bucket" {
  defaults = { arn = "arn:aws:s3:::cordata-fraud-pipelines" }
}
mock_resource "aws_sns_topic" {
  defaults = { arn = "arn:aws:sns:eu-central-1:444455556666:cordata-fraud-owners" }
}
mock_resource "aws_iam_role" {
  defaults = { arn = "arn:aws:iam::444455556666:role/some" }
}
mock_resource "aws_cloudwatch_event_rule" {
  defaults = { arn = "arn:aws:events:eu-central-1:444455556666:rule/some" }
}
