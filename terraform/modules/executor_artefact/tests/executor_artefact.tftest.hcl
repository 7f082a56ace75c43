mock_provider "aws" {
  mock_resource "aws_s3_bucket" {
    defaults = { arn = "arn:aws:s3:::cordata-artifacts" }
  }
  mock_data "aws_partition" {
    defaults = { partition = "aws" }
  }
  mock_data "aws_iam_policy_document" {
    defaults = { json = "{}" }
  }
}

variables {
  bucket_name    = "cordata-artifacts"
  publisher_arns = ["arn:aws:iam::111122223333:role/platform-ci"]
}

run "domains_read_and_only_the_platform_publishes" {
  variables {
    reader_accounts = { fraud = "444455556666", finance = "666677778888" }
  }

  assert {
    condition     = local.readers == tolist(["arn:aws:iam::444455556666:root", "arn:aws:iam::666677778888:root"])
    error_message = "the domains' accounts read"
  }

  assert {
    condition     = aws_s3_bucket_public_access_block.this.restrict_public_buckets && aws_s3_bucket_public_access_block.this.block_public_policy
    error_message = "nothing is public"
  }

  assert {
    condition     = aws_s3_bucket_versioning.this.versioning_configuration[0].status == "Enabled"
    error_message = "versions are kept"
  }

  assert {
    condition     = aws_s3_bucket.this.force_destroy == false
    error_message = "destroying keeps what runs have named"
  }
}

run "producers_find_every_domains_repository_once_a_line" {
  variables {
    domain_repositories = { fraud = "cordata/risk-pipelines", finance = "cordata/finance-pipelines", scoring = "cordata/risk-pipelines" }
  }

  assert {
    condition     = aws_s3_object.domain_repositories[0].content == "cordata/finance-pipelines\ncordata/risk-pipelines\n"
    error_message = "one owner/name a line, each once"
  }

  assert {
    condition     = output.domain_repositories == "s3://${aws_s3_bucket.this.id}/pipeline-runtime/domain-repositories.txt"
    error_message = "the list lies beside the versions"
  }
}

run "without_domains_there_is_no_list" {
  command = plan

  assert {
    condition     = length(aws_s3_object.domain_repositories) == 0
    error_message = "an empty list would ask nobody, and pass"
  }
}

run "a_repository_with_its_host_is_refused" {
  command = plan
  variables {
    domain_repositories = { fraud = "https://git.example.com/cordata/fraud-pipelines" }
  }
  expect_failures = [var.domain_repositories]
}

run "an_upper_case_bucket_is_refused" {
  command = plan
  variables {
    bucket_name = "Cordata_Artifacts"
  }
  expect_failures = [var.bucket_name]
}

run "a_publisher_that_is_no_role_is_refused" {
  command = plan
  variables {
    publisher_arns = ["arn:aws:iam::111122223333:user/someone"]
  }
  expect_failures = [var.publisher_arns]
}

run "an_unquoted_account_is_refused" {
  command = plan
  variables {
    reader_accounts = { fraud = 44455556666 }
  }
  expect_failures = [var.reader_accounts]
}
