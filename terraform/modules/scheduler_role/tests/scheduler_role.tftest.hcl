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
