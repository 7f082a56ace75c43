data "aws_caller_identity" "this" {}

data "aws_partition" "this" {}

data "aws_region" "this" {}

locals {
  jobs = sort([
    for name in var.job_names :
    "arn:${data.aws_partition.this.partition}:glue:${data.aws_region.this.name}:${data.aws_caller_identity.this.account_id}:job/${name}"
  ])
}

data "aws_iam_policy_document" "trust" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "AWS"
      identifiers = var.scheduler_principal_arns
    }

    dynamic "condition" {
      for_each = var.external_id == null ? [] : [var.external_id]

      content {
        test     = "StringEquals"
        variable = "sts:ExternalId"
        values   = [condition.value]
      }
    }
  }
}

data "aws_iam_policy_document" "start" {
  statement {
    sid = "StartAndFollow"
    # No UpdateJob: who can change a job's arguments can run other code with the job's rights.
    actions   = ["glue:StartJobRun", "glue:GetJobRun", "glue:GetJobRuns", "glue:BatchStopJobRun", "glue:GetJob"]
    resources = local.jobs
  }

  dynamic "statement" {
    for_each = length(var.ingest_role_arns) == 0 ? [] : [var.ingest_role_arns]

    content {
      sid       = "TellOfReplications"
      actions   = ["sts:AssumeRole"]
      resources = sort(tolist(statement.value))
    }
  }
}
