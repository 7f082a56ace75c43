provider "aws" {
  region = "eu-central-1"
}

module "ci_roles" {
  source = "../.."

  domain            = "fraud"
  oidc_provider_arn = "arn:aws:iam::444455556666:oidc-provider/token.actions.githubusercontent.com"
  repository        = "cordata/fraud-pipelines"
  artefact_location = "s3://cordata-artifacts/pipeline-runtime"
  config            = "s3://cordata-fraud-pipelines-example/config"
  dags              = var.dags
}
