mock_provider "aws" {
  mock_data "aws_caller_identity" {
    defaults = { account_id = "222233334444" }
  }
}

run "each_key_is_a_tag_and_is_shared_with_each_domain_account" {
  variables {
    ontology = {
      sensitivity = ["low", "medium", "high"]
      residency   = ["eu"]
    }
    domain_accounts = { fraud = "444455556666", finance = "666677778888" }
  }

  assert {
    condition     = toset(keys(aws_lakeformation_lf_tag.this)) == toset(["residency", "sensitivity"])
    error_message = "a tag a key"
  }

  assert {
    condition     = length(aws_lakeformation_permissions.share) == 4
    error_message = "two keys shared with two accounts"
  }

  assert {
    condition     = aws_lakeformation_permissions.share["sensitivity/fraud"].principal == "444455556666"
    error_message = "shared with the domain's account"
  }

  assert {
    condition     = output.ontology.sensitivity == tolist(["high", "low", "medium"])
    error_message = "the output lists the values, sorted"
  }
}

run "the_governance_account_itself_needs_no_share" {
  variables {
    ontology        = { residency = ["eu"] }
    domain_accounts = { governance = "222233334444" }
  }

  assert {
    condition     = length(aws_lakeformation_permissions.share) == 0
    error_message = "an account owns its tags already"
  }
}

run "upper_case_is_refused" {
  command = plan
  variables {
    ontology = { Sensitivity = ["High"] }
  }
  expect_failures = [var.ontology]
}

run "an_empty_ontology_is_refused" {
  command = plan
  variables {
    ontology = {}
  }
  expect_failures = [var.ontology]
}

run "a_key_without_values_is_refused" {
  command = plan
  variables {
    ontology = { residency = [] }
  }
  expect_failures = [var.ontology]
}

run "an_account_of_eleven_digits_is_refused" {
  command = plan
  variables {
    ontology        = { residency = ["eu"] }
    domain_accounts = { fraud = "44445555666" }
  }
  expect_failures = [var.domain_accounts]
}
