mock_provider "aws" {
  source = "./tests/mocks"
}

variables {
  domain                   = "fraud"
  repository_root          = "../../.."
  artefact_location        = "s3://cordata-artifacts/pipeline-runtime"
  executor_version         = "0.1.0"
  bucket_name              = "cordata-fraud-pipelines"
  lineage_url              = "https://lineage-adapter.cordata.example/lineage"
  lineage_invoker_role_arn = "arn:aws:iam::222233334444:role/cordata-fraud-lineage"
  governance_catalog_id    = "222233334444"
  transform_jobs = [
    {
      name                = "transactions_scored_daily"
      descriptor          = "domains/fraud/pipelines/transactions_scored.yml"
      openlineage_enabled = true
    },
  ]
}

run "one_conf_argument_carries_every_setting" {
  assert {
    condition = aws_glue_job.this["transactions_scored_daily"].default_arguments["--conf"] == join(" --conf ", [
      "spark.extraListeners=io.openlineage.spark.agent.OpenLineageSparkListener",
      "spark.openlineage.namespace=cordata.fraud",
      "spark.openlineage.transport.type=http",
      "spark.openlineage.transport.url=https://lineage-adapter.cordata.example",
    ])
    error_message = "chained, ordered by key, without a --conf in front"
  }

  assert {
    condition     = aws_glue_job.this["transactions_scored_daily"].default_arguments["--extra-jars"] == "s3://cordata-artifacts/pipeline-runtime/0.1.0/openlineage-spark_2.12-1.53.0.jar"
    error_message = "the listener for Glue 5.1's Scala"
  }

  assert {
    condition     = aws_glue_job.this["transactions_scored_daily"].max_retries == 0 && aws_glue_job.this["transactions_scored_daily"].execution_property[0].max_concurrent_runs == 1
    error_message = "retries are the scheduler's, and one run at a time"
  }

  assert {
    condition     = !contains(keys(aws_glue_job.this["transactions_scored_daily"].default_arguments), "--lineage")
    error_message = "an argument that is not needed is not there"
  }
}

run "settings_of_a_job_are_merged_and_listeners_joined" {
  variables {
    transform_jobs = [{
      name       = "transactions_scored_daily"
      descriptor = "domains/fraud/pipelines/transactions_scored.yml"
      extra_conf = { "spark.extraListeners" = "org.example.Other", "spark.sql.shuffle.partitions" = "64", "spark.sql.extensions" = "org.example.X" }
    }]
  }

  assert {
    condition     = strcontains(local.conf["transactions_scored_daily"], "spark.extraListeners=io.openlineage.spark.agent.OpenLineageSparkListener,org.example.Other --conf ")
    error_message = "ours first, each once"
  }

  assert {
    condition     = length(split("spark.extraListeners=", local.conf["transactions_scored_daily"])) == 2
    error_message = "exactly one setting of listeners"
  }

  assert {
    condition     = endswith(local.conf["transactions_scored_daily"], "spark.sql.extensions=org.example.X --conf spark.sql.shuffle.partitions=64")
    error_message = "the job's own settings are kept"
  }
}

run "without_openlineage_the_jar_is_detached_and_events_still_go_out" {
  variables {
    transform_jobs = [{
      name                = "transactions_scored_daily"
      descriptor          = "domains/fraud/pipelines/transactions_scored.yml"
      openlineage_enabled = false
    }]
  }

  assert {
    condition     = length(setintersection(keys(aws_glue_job.this["transactions_scored_daily"].default_arguments), ["--conf", "--extra-jars", "--user-jars-first"])) == 0
    error_message = "nothing of the listener is left"
  }

  assert {
    condition     = aws_glue_job.this["transactions_scored_daily"].default_arguments["--lineage-url"] == var.lineage_url
    error_message = "the executor's own events do not depend on it"
  }
}

run "what_the_listener_saw_is_sent_where_a_job_asks_for_it" {
  variables {
    transform_jobs = [{
      name             = "transactions_scored_daily"
      descriptor       = "domains/fraud/pipelines/transactions_scored.yml"
      lineage_children = true
    }]
  }

  assert {
    condition     = aws_glue_job.this["transactions_scored_daily"].default_arguments["--lineage-children"] == "on"
    error_message = "the executor's own word for it"
  }
}

run "without_the_listener_there_are_no_child_runs_to_send" {
  command = plan

  variables {
    transform_jobs = [{
      name                = "transactions_scored_daily"
      descriptor          = "domains/fraud/pipelines/transactions_scored.yml"
      openlineage_enabled = false
      lineage_children    = true
    }]
  }

  expect_failures = [var.transform_jobs]
}

run "glue_6_gets_the_listener_of_its_scala_and_its_own_wheels" {
  variables {
    transform_jobs = [{
      name         = "transactions_scored_daily"
      descriptor   = "domains/fraud/pipelines/transactions_scored.yml"
      glue_version = "6.0"
    }]
  }

  assert {
    condition     = endswith(aws_glue_job.this["transactions_scored_daily"].default_arguments["--extra-jars"], "openlineage-spark_2.13-1.53.0.jar")
    error_message = "Scala 2.13"
  }

  assert {
    condition     = endswith(aws_glue_job.this["transactions_scored_daily"].default_arguments["--additional-python-modules"], "/glue-6.0.gluewheels.zip")
    error_message = "wheels for Python 3.13"
  }
}

run "a_role_reaches_what_its_descriptor_names_and_nothing_else" {
  assert {
    condition = toset(flatten([for statement in data.aws_iam_policy_document.job["transactions_scored_daily"].statement : [for resource in statement.resources : resource if strcontains(resource, ":table/")]])) == toset([
      "arn:aws:glue:eu-central-1:444455556666:table/fraud_raw/transactions",
      "arn:aws:glue:eu-central-1:444455556666:table/fraud_curated/transactions_scored",
      "arn:aws:glue:eu-central-1:444455556666:table/fraud_curated/transactions_scored__quarantine",
      "arn:aws:glue:eu-central-1:444455556666:table/fraud_curated/branch_audit_*",
      "arn:aws:glue:eu-central-1:444455556666:table/fraud_curated/entries",
      "arn:aws:glue:eu-central-1:444455556666:table/fraud_curated/*",
    ])
    error_message = "the source, the target and its quarantine, Iceberg's names inside it, and its database's list"
  }

  assert {
    condition     = [for statement in data.aws_iam_policy_document.job["transactions_scored_daily"].statement : statement.actions if anytrue([for resource in statement.resources : endswith(resource, "table/fraud_curated/*")])] == [toset(["glue:GetDatabases", "glue:GetTables"])]
    error_message = "what lies beside the target is listed, nothing else"
  }

  assert {
    condition     = alltrue([for statement in data.aws_iam_policy_document.job["transactions_scored_daily"].statement : !contains(statement.resources, "*") || contains(["Tags", "Metrics"], statement.sid)])
    error_message = "only what IAM has no resources for"
  }

  assert {
    condition     = alltrue([for statement in data.aws_iam_policy_document.job["transactions_scored_daily"].statement : alltrue([for action in statement.actions : !endswith(action, "*")])])
    error_message = "actions are named"
  }

  assert {
    condition     = local.source_places["transactions_scored_daily"] == { bucket = "cordata-fraud-raw-eu-central-1", prefix = "transactions" }
    error_message = "the source's own prefix"
  }
}

run "a_source_of_another_account_is_read_by_its_owners_name_too" {
  variables {
    domain          = "finance"
    transform_jobs  = [{ name = "merchant_settlement_daily", descriptor = "domains/finance/pipelines/merchant_settlement_daily.yml" }]
    foreign_sources = { "fraud_raw.transactions" = { account = "777788889999", database = "fraud_raw", table = "transactions" } }
  }

  assert {
    condition     = contains(flatten([for statement in data.aws_iam_policy_document.job["merchant_settlement_daily"].statement : statement.resources]), "arn:aws:glue:eu-central-1:777788889999:table/fraud_raw/transactions")
    error_message = "IAM is asked for the owner's table"
  }
}

run "without_a_closer_the_owner_hears_of_a_dead_job_from_glue" {
  assert {
    condition     = length(aws_cloudwatch_event_rule.failed) == 1 && length(aws_cloudwatch_event_target.failed) == 1
    error_message = "nobody else tells"
  }
}

run "with_a_closer_the_owner_hears_of_a_dead_job_once_and_from_it" {
  variables {
    closer_role_arn = "arn:aws:iam::222233334444:role/cordata-fraud-closer-function"
  }

  assert {
    condition     = length(aws_cloudwatch_event_rule.failed) == 0 && length(aws_cloudwatch_event_target.failed) == 0
    error_message = "Glue's own word would be a second one"
  }

  assert {
    condition     = one([for statement in data.aws_iam_policy_document.closer[0].statement : statement.resources if statement.sid == "TellTheOwner"]) == toset([aws_sns_topic.owners.arn])
    error_message = "the closer may publish to this topic and no other"
  }
}

run "the_orchestrator_is_told_of_the_jobs_that_are_left_to_it" {
  variables {
    transform_jobs = [
      { name = "scored", descriptor = "domains/fraud/pipelines/transactions_scored.yml", orchestrated = { schedule = "0 5 * * *" } },
      { name = "waiting", descriptor = "domains/fraud/pipelines/transactions_scored.yml", orchestrated = {} },
      { name = "triggered", descriptor = "domains/fraud/pipelines/transactions_scored.yml", schedule = "cron(0 3 * * ? *)" },
      { name = "by_hand", descriptor = "domains/fraud/pipelines/transactions_scored.yml" },
    ]
  }

  assert {
    condition = output.orchestrated_jobs == {
      scored  = { descriptor = "domains/fraud/pipelines/transactions_scored.yml", schedule = "0 5 * * *", collects = tostring(null) }
      waiting = { descriptor = "domains/fraud/pipelines/transactions_scored.yml", schedule = tostring(null), collects = tostring(null) }
    }
    error_message = "neither of one that Glue starts, nor of one that people start"
  }

  assert {
    condition     = keys(aws_glue_trigger.this) == ["triggered"]
    error_message = "the orchestrator's jobs have no trigger of Glue's"
  }

  assert {
    condition     = output.descriptors["by_hand"] == "domains/fraud/pipelines/transactions_scored.yml"
    error_message = "every job's descriptor, as the job has it"
  }
}

run "a_job_that_two_would_start_is_refused" {
  command = plan
  variables {
    transform_jobs = [{ name = "x", descriptor = "domains/fraud/pipelines/transactions_scored.yml", schedule = "cron(0 3 * * ? *)", orchestrated = {} }]
  }
  expect_failures = [var.transform_jobs]
}

run "glues_cron_is_no_schedule_of_the_orchestrators" {
  command = plan
  variables {
    transform_jobs = [{ name = "x", descriptor = "domains/fraud/pipelines/transactions_scored.yml", orchestrated = { schedule = "cron(0 3 * * ? *)" } }]
  }
  expect_failures = [var.transform_jobs]
}

run "a_job_collects_days_weeks_or_months" {
  command = plan
  variables {
    transform_jobs = [{ name = "x", descriptor = "domains/fraud/pipelines/transactions_scored.yml", orchestrated = { collects = "year" } }]
  }
  expect_failures = [var.transform_jobs]
}

run "a_job_that_collects_has_no_schedule" {
  command = plan
  variables {
    transform_jobs = [{ name = "x", descriptor = "domains/fraud/pipelines/transactions_scored.yml", orchestrated = { collects = "day", schedule = "0 5 * * *" } }]
  }
  expect_failures = [var.transform_jobs]
}

run "another_domains_descriptor_is_refused" {
  command = plan
  variables {
    transform_jobs = [{ name = "claims", descriptor = "domains/policy/pipelines/claims_ingest.yml" }]
  }
  expect_failures = [aws_glue_job.this]
}

run "another_engine_is_refused" {
  command = plan
  variables {
    transform_jobs = [{ name = "x", descriptor = "domains/fraud/pipelines/transactions_scored.yml", engine = "emr" }]
  }
  expect_failures = [var.transform_jobs]
}

run "a_descriptor_that_names_an_engine_is_refused" {
  command = plan
  variables {
    repository_root = "./tests/repository"
    transform_jobs  = [{ name = "x", descriptor = "names_an_engine.yml" }]
  }
  expect_failures = [aws_glue_job.this]
}

run "a_glue_version_that_lost_its_last_digit_is_refused" {
  command = plan
  variables {
    transform_jobs = [{ name = "x", descriptor = "domains/fraud/pipelines/transactions_scored.yml", glue_version = 5 }]
  }
  expect_failures = [var.transform_jobs]
}

run "an_unknown_worker_type_is_refused" {
  command = plan
  variables {
    transform_jobs = [{ name = "x", descriptor = "domains/fraud/pipelines/transactions_scored.yml", worker_type = "Standard" }]
  }
  expect_failures = [var.transform_jobs]
}

run "half_a_worker_is_refused" {
  command = plan
  variables {
    transform_jobs = [{ name = "x", descriptor = "domains/fraud/pipelines/transactions_scored.yml", number_of_workers = 2.5 }]
  }
  expect_failures = [var.transform_jobs]
}

run "a_setting_with_a_space_is_refused" {
  command = plan
  variables {
    transform_jobs = [{ name = "x", descriptor = "domains/fraud/pipelines/transactions_scored.yml", extra_conf = { "spark.a" = "b --conf spark.c=d" } }]
  }
  expect_failures = [var.transform_jobs]
}

run "a_setting_of_the_executors_own_is_refused" {
  command = plan
  variables {
    transform_jobs = [{ name = "x", descriptor = "domains/fraud/pipelines/transactions_scored.yml", extra_conf = { "spark.sql.session.timeZone" = "Europe/Berlin" } }]
  }
  expect_failures = [var.transform_jobs]
}

run "a_descriptor_outside_the_repository_is_refused" {
  command = plan
  variables {
    transform_jobs = [{ name = "x", descriptor = "../elsewhere.yml" }]
  }
  expect_failures = [var.transform_jobs]
}

run "a_version_called_latest_is_refused" {
  command = plan
  variables {
    executor_version = "latest"
  }
  expect_failures = [var.executor_version]
}
