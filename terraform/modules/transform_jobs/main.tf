data "aws_caller_identity" "this" {}

data "aws_partition" "this" {}

data "aws_region" "this" {}

locals {
  jobs = { for job in var.transform_jobs : job.name => job }

  descriptors = { for name, job in local.jobs : name => yamldecode(file("${var.repository_root}/${job.descriptor}")) }

  # The openlineage-spark listener must match the Scala of the Glue version.
  listeners = {
    "5.1" = "openlineage-spark_2.12-1.53.0.jar"
    "6.0" = "openlineage-spark_2.13-1.53.0.jar"
  }

  artefact = "${var.artefact_location}/${var.executor_version}"
  config   = "s3://${aws_s3_bucket.this.id}/config"
  evidence = "s3://${aws_s3_bucket.this.id}/evidence"

  listener_conf = {
    for name, job in local.jobs : name => job.openlineage_enabled ? merge(
      {
        "spark.extraListeners"        = "io.openlineage.spark.agent.OpenLineageSparkListener"
        "spark.openlineage.namespace" = "cordata.${var.domain}"
      },
      var.lineage_url == null ? {} : {
        "spark.openlineage.transport.type" = "http"
        "spark.openlineage.transport.url"  = trimsuffix(var.lineage_url, "/lineage")
      },
    ) : {}
  }

  # Settings that are lists are joined, ours first, each entry once; of others the job's own counts.
  joined = {
    for name, job in local.jobs : name => {
      for key in ["spark.extraListeners", "spark.sql.extensions"] : key => join(",", distinct([
        for entry in split(",", "${lookup(local.listener_conf[name], key, "")},${lookup(job.extra_conf, key, "")}") : trimspace(entry) if trimspace(entry) != ""
      ]))
      if lookup(local.listener_conf[name], key, "") != "" || lookup(job.extra_conf, key, "") != ""
    }
  }

  conf = {
    for name, job in local.jobs : name => join(" --conf ", [
      for key, value in merge(local.listener_conf[name], job.extra_conf, local.joined[name]) : "${key}=${value}"
    ])
  }

  arguments = {
    for name, job in local.jobs : name => {
      for key, value in {
        "--additional-python-modules"       = "${local.artefact}/glue-${job.glue_version}.gluewheels.zip"
        "--python-modules-installer-option" = "--no-index"
        "--extra-py-files"                  = "${local.artefact}/pipeline_runtime-${var.executor_version}.zip"
        "--extra-jars"                      = job.openlineage_enabled ? "${local.artefact}/${local.listeners[job.glue_version]}" : null
        "--user-jars-first"                 = job.openlineage_enabled ? "true" : null
        "--datalake-formats"                = "iceberg"
        "--conf"                            = local.conf[name] == "" ? null : local.conf[name]
        "--job-language"                    = "python"
        "--job-bookmark-option"             = "job-bookmark-disable"
        "--enable-metrics"                  = "true"
        "--enable-observability-metrics"    = "true"
        "--custom-logGroup-prefix"          = local.log_groups[name]
        "--descriptor"                      = job.descriptor
        "--config"                          = local.config
        "--evidence"                        = local.evidence
        "--lineage"                         = var.lineage_url == null ? "off" : null
        "--lineage-url"                     = var.lineage_url
        "--lineage-children"                = job.lineage_children ? "on" : null
        "--lineage-role-arn"                = var.lineage_invoker_role_arn
        "--governance-catalog"              = var.governance_catalog_id
        "--owner-topic"                     = aws_sns_topic.owners.arn
        "--log-format"                      = "json"
      } : key => value if value != null
    }
  }

  log_groups = { for name in keys(local.jobs) : name => "/cordata/${var.domain}/${name}" }
}

resource "aws_glue_job" "this" {
  #checkov:skip=CKV_AWS_195:Logs and buckets are encrypted where they lie, and bookmarks are off; a security configuration would rename the log groups that the role may write to.
  for_each = local.jobs

  name              = each.key
  description       = "Runs ${each.value.descriptor}."
  role_arn          = aws_iam_role.job[each.key].arn
  glue_version      = each.value.glue_version
  worker_type       = each.value.worker_type
  number_of_workers = each.value.number_of_workers
  timeout           = each.value.timeout
  execution_class   = each.value.execution_class
  connections       = each.value.connections
  default_arguments = local.arguments[each.key]

  # Retries belong to the scheduler, each with a run of its own.
  max_retries = 0

  command {
    name            = "glueetl"
    python_version  = "3"
    script_location = "${local.artefact}/run_pipeline.py"
  }

  execution_property {
    # Two runs of one product at a time would publish over one another.
    max_concurrent_runs = 1
  }

  lifecycle {
    precondition {
      condition     = local.descriptors[each.key].metadata.domain == var.domain
      error_message = "${each.value.descriptor} belongs to domain ${local.descriptors[each.key].metadata.domain}; this is ${var.domain}. A domain deploys its own descriptors."
    }

    precondition {
      condition     = contains(["cordata.tech/v1", "cordata.tech/v2"], local.descriptors[each.key].apiVersion)
      error_message = "${each.value.descriptor} is of apiVersion ${local.descriptors[each.key].apiVersion}; this module knows cordata.tech/v1 and cordata.tech/v2."
    }

    precondition {
      condition     = !anytrue([for part in [local.descriptors[each.key], local.descriptors[each.key].metadata, local.descriptors[each.key].source, local.descriptors[each.key].target] : can(part.engine)])
      error_message = "${each.value.descriptor} names an engine. A descriptor says what a pipeline reads and produces; what runs it stands beside `descriptor` in transform_jobs."
    }
  }

  depends_on = [aws_iam_role_policy.job]
}

resource "aws_glue_trigger" "this" {
  for_each = { for name, job in local.jobs : name => job if job.schedule != null }

  name        = each.key
  description = "Starts ${each.key}."
  type        = "SCHEDULED"
  schedule    = each.value.schedule

  actions {
    job_name = aws_glue_job.this[each.key].name
  }
}
