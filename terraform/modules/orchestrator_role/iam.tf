data "aws_iam_policy_document" "trust" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = var.trusted_services
    }
  }
}

data "aws_iam_policy_document" "assume" {
  statement {
    actions   = ["sts:AssumeRole"]
    resources = sort(values(var.scheduler_role_arns))
  }
}
