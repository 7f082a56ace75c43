resource "aws_iam_role" "this" {
  name               = "cordata-orchestrator"
  description        = "Plans and follows; it reads no row, and can start a domain's jobs only as that domain's scheduler."
  assume_role_policy = data.aws_iam_policy_document.trust.json
}

resource "aws_iam_role_policy" "this" {
  name   = "become-a-scheduler"
  role   = aws_iam_role.this.id
  policy = data.aws_iam_policy_document.assume.json
}

resource "aws_iam_role_policy" "dags" {
  count = var.dag_bucket_name == null ? 0 : 1

  name   = "read-the-dags"
  role   = aws_iam_role.this.id
  policy = data.aws_iam_policy_document.dags[0].json
}

resource "aws_iam_role_policy" "environment" {
  count = var.environment_name == null ? 0 : 1

  name   = "be-an-environment"
  role   = aws_iam_role.this.id
  policy = data.aws_iam_policy_document.environment[0].json
}
