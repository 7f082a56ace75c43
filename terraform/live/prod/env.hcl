# The environment: accounts, names, and which version of the executor runs.

locals {
  name   = "prod"
  region = "eu-central-1"

  executor_version   = "0.1.0"
  datazone_domain_id = "dzd_4x1abcdefghij"
  dag_bucket         = "cordata-airflow-prod"

  accounts = {
    platform   = "111122223333"
    governance = "222233334444"
    automation = "333344445555"
  }

  # A domain's jobs are declared in its own folder; governance needs their names, to let them post lineage and to
  # close their runs. A test holds the two lists together.
  domains = {
    fraud   = { account = "444455556666", bucket = "cordata-fraud-pipelines-prod", repository = "cordata/fraud-pipelines", job_names = ["transactions_scored_daily"] }
    policy  = { account = "555566667777", bucket = "cordata-policy-pipelines-prod", repository = "cordata/policy-pipelines", job_names = ["claims_ingest_hourly"] }
    finance = { account = "666677778888", bucket = "cordata-finance-pipelines-prod", repository = "cordata/finance-pipelines", job_names = ["merchant_settlement_daily"] }
  }
}
