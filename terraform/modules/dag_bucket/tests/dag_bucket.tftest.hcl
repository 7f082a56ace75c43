mock_provider "aws" {
  mock_resource "aws_s3_bucket" {
    defaults = { id = "cordata-airflow", arn = "arn:aws:s3:::cordata-airflow" }
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
}

variables {
  bucket_name = "cordata-airflow"
  deployments = {
    fraud = {
      role_arn = "arn:aws:iam::444455556666:role/cordata-fraud-scheduler"
      jobs     = { transactions_scored_daily = { descriptor = "domains/fraud/pipelines/transactions_scored.yml", schedule = "0 5 * * *" } }
    }
    finance = {
      role_arn    = "arn:aws:iam::666677778888:role/cordata-finance-scheduler"
      external_id = "orchestrator-of-cordata"
      jobs        = { merchant_settlement_daily = { descriptor = "domains/finance/pipelines/merchant_settlement_daily.yml", collects = "day" } }
    }
  }
  descriptor_writer_arns = { fraud = "arn:aws:iam::444455556666:role/cordata-fraud-ci-sync" }
}

run "the_file_says_as_whom_what_and_when_and_nothing_that_is_not_set" {
  assert {
    condition = jsondecode(aws_s3_object.deployment.content) == {
      region = "eu-central-1"
      domains = {
        fraud = {
          role_arn = "arn:aws:iam::444455556666:role/cordata-fraud-scheduler"
          jobs     = { transactions_scored_daily = { descriptor = "domains/fraud/pipelines/transactions_scored.yml", schedule = "0 5 * * *" } }
        }
        finance = {
          role_arn    = "arn:aws:iam::666677778888:role/cordata-finance-scheduler"
          external_id = "orchestrator-of-cordata"
          jobs        = { merchant_settlement_daily = { descriptor = "domains/finance/pipelines/merchant_settlement_daily.yml", collects = "day" } }
        }
      }
    }
    error_message = "one file for all domains, as the DAGs read it"
  }

  assert {
    condition     = aws_s3_object.deployment.key == "dags/deployment.json" && output.dags == "s3://cordata-airflow/dags"
    error_message = "beside the DAG file"
  }
}

run "how_patient_the_orchestrator_is_can_be_said" {
  variables {
    retries       = 0
    retry_seconds = 30
    poll_seconds  = 15
  }

  assert {
    condition     = jsondecode(aws_s3_object.deployment.content).retries == 0 && jsondecode(aws_s3_object.deployment.content).retry_seconds == 30 && jsondecode(aws_s3_object.deployment.content).poll_seconds == 15
    error_message = "under the names that the DAGs know"
  }
}

run "a_domains_ci_writes_its_descriptors_and_no_code" {
  assert {
    condition = one([for statement in data.aws_iam_policy_document.bucket.statement : statement.resources if contains(statement.actions, "s3:PutObject")]) == toset([
      "arn:aws:s3:::cordata-airflow/dags/domains/fraud/pipelines/*.yml",
      "arn:aws:s3:::cordata-airflow/dags/domains/fraud/pipelines/*.yaml",
    ])
    error_message = "YAML in its own folder: who writes a DAG can start every domain's jobs"
  }

  assert {
    condition = one([for statement in data.aws_iam_policy_document.bucket.statement : [
      one(statement.principals).identifiers, one(statement.condition).values,
    ] if contains(statement.actions, "s3:PutObject")]) == [toset(["arn:aws:iam::444455556666:root"]), tolist(["arn:aws:iam::444455556666:role/cordata-fraud-ci-sync"])]
    error_message = "this role of the account, whether it is there already or not"
  }

  assert {
    condition     = output.descriptor_folders == { fraud = "s3://cordata-airflow/dags/domains/fraud/pipelines" }
    error_message = "and is told where"
  }
}

run "nothing_is_public_and_versions_are_kept" {
  assert {
    condition     = aws_s3_bucket_public_access_block.this.restrict_public_buckets && aws_s3_bucket_public_access_block.this.block_public_policy
    error_message = "Amazon MWAA refuses a bucket that could be public"
  }

  assert {
    condition     = aws_s3_bucket_versioning.this.versioning_configuration[0].status == "Enabled" && !aws_s3_bucket.this.force_destroy
    error_message = "it names versions of its files"
  }
}

run "two_jobs_of_one_descriptor_are_refused" {
  command = plan
  variables {
    deployments = {
      fraud = {
        role_arn = "arn:aws:iam::444455556666:role/cordata-fraud-scheduler"
        jobs = {
          one = { descriptor = "domains/fraud/pipelines/transactions_scored.yml" }
          two = { descriptor = "domains/fraud/pipelines/transactions_scored.yml" }
        }
      }
    }
  }
  expect_failures = [var.deployments]
}

run "another_domains_descriptor_is_refused" {
  command = plan
  variables {
    deployments = {
      fraud = {
        role_arn = "arn:aws:iam::444455556666:role/cordata-fraud-scheduler"
        jobs     = { one = { descriptor = "domains/finance/pipelines/merchant_settlement_daily.yml" } }
      }
    }
  }
  expect_failures = [var.deployments]
}

run "an_account_is_no_writer" {
  command = plan
  variables {
    descriptor_writer_arns = { fraud = "arn:aws:iam::444455556666:root" }
  }
  expect_failures = [var.descriptor_writer_arns]
}

run "half_a_retry_is_refused" {
  command = plan
  variables {
    retries = 0.5
  }
  expect_failures = [var.retries]
}

run "no_time_between_tries_is_refused" {
  command = plan
  variables {
    retry_seconds = 0
  }
  expect_failures = [var.retry_seconds]
}

run "no_time_between_looks_is_refused" {
  command = plan
  variables {
    poll_seconds = 0
  }
  expect_failures = [var.poll_seconds]
}

run "an_upper_case_bucket_is_refused" {
  command = plan
  variables {
    bucket_name = "Cordata_Airflow"
  }
  expect_failures = [var.bucket_name]
}
