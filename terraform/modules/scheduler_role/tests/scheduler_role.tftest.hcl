mock_provider "aws" {
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
  mock_resource "aws_iam_role" {
    defaults = { arn = "arn:aws:iam::444455556666:role/cordata-fraud-scheduler" }
  }
}

variables {
  domain                   = "fraud"
  scheduler_principal_arns = ["arn:aws:iam::333344445555:role/orchestrator"]
  job_names                = ["transactions_scored_daily"]
}

run "the_role_starts_the_domains_jobs_and_no_others" {
  assert {
    condition     = local.jobs == tolist(["arn:aws:glue:eu-central-1:444455556666:job/transactions_scored_daily"])
    error_message = "only the named job"
  }

  assert {
    condition     = alltrue([for statement in data.aws_iam_policy_document.start.statement : !contains(statement.actions, "glue:UpdateJob") && !contains(statement.actions, "glue:*")])
    error_message = "starting is not changing"
  }
}

run "the_orchestrator_is_told_what_to_start_as_whom_and_when" {
  variables {
    orchestrated_jobs = { transactions_scored_daily = { descriptor = "domains/fraud/pipelines/transactions_scored.yml", schedule = "0 5 * * *" } }
    external_id       = "orchestrator-of-cordata"
  }

  assert {
    condition     = output.deployment.role_arn == aws_iam_role.this.arn && output.deployment.external_id == "orchestrator-of-cordata"
    error_message = "as this role, which asks for its external id"
  }

  assert {
    condition     = output.deployment.jobs.transactions_scored_daily.schedule == "0 5 * * *" && output.deployment.jobs.transactions_scored_daily.collects == null
    error_message = "each job with its time"
  }
}

run "a_role_that_tells_of_replications_may_become_theirs_and_is_not_called_harmless" {
  variables {
    ingest_role_arns = ["arn:aws:iam::444455556666:role/cordata-fraud-ingest"]
  }

  assert {
    condition     = one([for statement in data.aws_iam_policy_document.start.statement : statement.resources if contains(statement.actions, "sts:AssumeRole")]) == toset(["arn:aws:iam::444455556666:role/cordata-fraud-ingest"])
    error_message = "that role and no other"
  }

  assert {
    condition     = !strcontains(aws_iam_role.this.description, "credential")
    error_message = "an ingestion's role reads its source's secret"
  }
}

run "without_replications_the_role_becomes_nothing_else" {
  assert {
    condition     = length(data.aws_iam_policy_document.start.statement) == 1 && strcontains(aws_iam_role.this.description, "sees no credential")
    error_message = "starts and follows, that is all"
  }
}

run "a_job_that_the_role_may_not_start_is_not_left_to_the_orchestrator" {
  command = plan
  variables {
    orchestrated_jobs = { another = { descriptor = "domains/fraud/pipelines/another.yml" } }
  }
  expect_failures = [var.orchestrated_jobs]
}

run "another_role_than_an_ingestions_is_refused" {
  command = plan
  variables {
    ingest_role_arns = ["arn:aws:iam::444455556666:role/admin"]
  }
  expect_failures = [var.ingest_role_arns]
}

run "a_wildcard_job_is_refused" {
  command = plan
  variables {
    job_names = ["*"]
  }
  expect_failures = [var.job_names]
}

run "a_whole_account_as_principal_is_refused" {
  command = plan
  variables {
    scheduler_principal_arns = ["333344445555"]
  }
  expect_failures = [var.scheduler_principal_arns]
}

run "a_session_of_a_minute_is_refused" {
  command = plan
  variables {
    max_session_seconds = 60
  }
  expect_failures = [var.max_session_seconds]
}

run "a_domain_with_a_slash_is_refused" {
  command = plan
  variables {
    domain = "fraud/evil"
  }
  expect_failures = [var.domain]
}
