mock_provider "aws" {
  mock_data "aws_caller_identity" {
    defaults = { account_id = "333344445555" }
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

run "the_orchestrator_can_only_become_the_domains_schedulers" {
  variables {
    scheduler_role_arns = { fraud = "arn:aws:iam::444455556666:role/cordata-fraud-scheduler" }
  }

  assert {
    condition     = data.aws_iam_policy_document.assume.statement[0].resources == toset(["arn:aws:iam::444455556666:role/cordata-fraud-scheduler"])
    error_message = "the schedulers' roles, no others"
  }

  assert {
    condition     = data.aws_iam_policy_document.assume.statement[0].actions == toset(["sts:AssumeRole"])
    error_message = "it does nothing by itself"
  }

  assert {
    condition     = length(data.aws_iam_policy_document.dags) == 0 && length(data.aws_iam_policy_document.environment) == 0
    error_message = "and reads nothing that it was not given"
  }
}

run "an_environment_reads_its_bucket_and_changes_nothing_in_it" {
  variables {
    scheduler_role_arns = { fraud = "arn:aws:iam::444455556666:role/cordata-fraud-scheduler" }
    dag_bucket_name     = "cordata-airflow"
    environment_name    = "cordata"
  }

  assert {
    condition     = data.aws_iam_policy_document.dags[0].statement[0].resources == toset(["arn:aws:s3:::cordata-airflow", "arn:aws:s3:::cordata-airflow/*"])
    error_message = "its own bucket"
  }

  assert {
    condition     = alltrue([for statement in data.aws_iam_policy_document.dags[0].statement : alltrue([for action in statement.actions : startswith(action, "s3:Get") || startswith(action, "s3:List")])])
    error_message = "reading only: who writes a DAG can start every domain's jobs"
  }

  assert {
    condition     = one([for statement in data.aws_iam_policy_document.environment[0].statement : statement.resources if statement.sid == "Logs"]) == toset(["arn:aws:logs:eu-central-1:333344445555:log-group:airflow-cordata-*"])
    error_message = "its own logs"
  }

  assert {
    condition     = one([for statement in data.aws_iam_policy_document.environment[0].statement : statement.resources if statement.sid == "LineagesKey"]) == toset(["arn:aws:secretsmanager:eu-central-1:333344445555:secret:airflow/connections/openlineage-*"])
    error_message = "one connection"
  }
}

run "an_environment_with_a_space_is_refused" {
  command = plan
  variables {
    scheduler_role_arns = {}
    environment_name    = "my environment"
  }
  expect_failures = [var.environment_name]
}

run "another_role_of_a_domain_is_refused" {
  command = plan
  variables {
    scheduler_role_arns = { fraud = "arn:aws:iam::444455556666:role/admin" }
  }
  expect_failures = [var.scheduler_role_arns]
}

run "another_domains_scheduler_is_refused" {
  command = plan
  variables {
    scheduler_role_arns = { fraud = "arn:aws:iam::666677778888:role/cordata-finance-scheduler" }
  }
  expect_failures = [var.scheduler_role_arns]
}
