locals {
  # Whoever may become an ingestion's role is not called harmless.
  description = length(var.ingest_role_arns) == 0 ? "Starts and follows the ${var.domain} domain's jobs. Reads no row, sees no credential." : "Starts and follows the ${var.domain} domain's jobs, and its replications. Reads no row."
}

resource "aws_iam_role" "this" {
  name                 = "cordata-${var.domain}-scheduler"
  description          = local.description
  assume_role_policy   = data.aws_iam_policy_document.trust.json
  max_session_duration = var.max_session_seconds
}

resource "aws_iam_role_policy" "this" {
  name   = "start-and-follow"
  role   = aws_iam_role.this.id
  policy = data.aws_iam_policy_document.start.json
}
