mock_provider "aws" {
  mock_data "aws_partition" {
    defaults = { partition = "aws" }
  }
  mock_data "aws_iam_policy_document" {
    defaults = { json = "{}" }
  }
}

variables {
  domain            = "fraud"
  oidc_provider_arn = "arn:aws:iam::444455556666:oidc-provider/token.actions.githubusercontent.com"
  repository        = "cordata/fraud-pipelines"
  artefact_location = "s3://cordata-artifacts/pipeline-runtime"
  config            = "s3://cordata-fraud-pipelines/config"
  dags              = "s3://cordata-airflow/dags/domains/fraud/pipelines"
}

run "only_the_default_branch_syncs" {
  assert {
    condition = { for condition in data.aws_iam_policy_document.sync_trust.statement[0].condition : condition.variable => condition.values } == {
      "token.actions.githubusercontent.com:aud" = tolist(["sts.amazonaws.com"])
      "token.actions.githubusercontent.com:sub" = tolist(["repo:cordata/fraud-pipelines:ref:refs/heads/main"])
    }
    error_message = "what was merged"
  }

  assert {
    condition     = contains(flatten([for condition in data.aws_iam_policy_document.check_trust.statement[0].condition : condition.values]), "repo:cordata/fraud-pipelines:pull_request") && alltrue([for statement in data.aws_iam_policy_document.check.statement : statement.actions == toset(["s3:GetObject"])])
    error_message = "a pull request fetches the executor, and nothing more"
  }
}

run "a_merge_writes_releases_and_not_what_is_deployed" {
  assert {
    condition = one([for statement in data.aws_iam_policy_document.sync.statement : statement.resources if statement.sid == "Releases"]) == toset([
      "arn:aws:s3:::cordata-fraud-pipelines/config/current.json",
      "arn:aws:s3:::cordata-fraud-pipelines/config/releases/*",
    ])
    error_message = "deployed.json is Terraform's"
  }

  assert {
    condition = one([for statement in data.aws_iam_policy_document.sync.statement : statement.resources if statement.sid == "TellTheOrchestrator"]) == toset([
      "arn:aws:s3:::cordata-airflow/dags/domains/fraud/pipelines/*.yml",
      "arn:aws:s3:::cordata-airflow/dags/domains/fraud/pipelines/*.yaml",
    ])
    error_message = "and its own descriptors for the orchestrator"
  }
}

run "without_an_orchestrator_nothing_is_written_for_one" {
  variables {
    dags            = null
    config_key_arns = ["arn:aws:kms:eu-central-1:444455556666:key/1"]
  }

  assert {
    condition     = [for statement in data.aws_iam_policy_document.sync.statement : statement.sid] == ["Releases", "WhatIsDeployed", "WhetherItIs", "Keys"]
    error_message = "the jobs' configuration only"
  }
}

run "another_domains_folder_is_refused" {
  command = plan
  variables {
    dags = "s3://cordata-airflow/dags/domains/finance/pipelines"
  }
  expect_failures = [var.dags]
}

run "every_repository_of_an_owner_is_refused" {
  command = plan
  variables {
    repository = "cordata/*"
  }
  expect_failures = [var.repository]
}

run "every_branch_is_refused" {
  command = plan
  variables {
    default_branch = "*"
  }
  expect_failures = [var.default_branch]
}

run "another_identity_provider_is_refused" {
  command = plan
  variables {
    oidc_provider_arn = "arn:aws:iam::444455556666:oidc-provider/ci.example.org"
  }
  expect_failures = [var.oidc_provider_arn]
}

run "a_role_is_no_identity_provider" {
  command = plan
  variables {
    oidc_provider_arn = "arn:aws:iam::444455556666:role/ci"
  }
  expect_failures = [var.oidc_provider_arn]
}

run "a_domain_with_a_slash_is_refused" {
  command = plan
  variables {
    domain = "fraud/evil"
    dags   = null
  }
  expect_failures = [var.domain]
}

run "a_bucket_alone_is_no_config" {
  command = plan
  variables {
    config = "s3://cordata-fraud-pipelines"
  }
  expect_failures = [var.config]
}
