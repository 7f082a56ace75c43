mock_provider "aws" {
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
