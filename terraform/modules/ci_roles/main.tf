resource "aws_iam_role" "check" {
  name               = "cordata-${var.domain}-ci-check"
  description        = "Checks ${var.domain}'s pull requests: fetches the executor, and nothing else."
  assume_role_policy = data.aws_iam_policy_document.check_trust.json
}

resource "aws_iam_role_policy" "check" {
  name   = "check"
  role   = aws_iam_role.check.id
  policy = data.aws_iam_policy_document.check.json
}

resource "aws_iam_role" "sync" {
  name               = "cordata-${var.domain}-ci-sync"
  description        = "Puts what ${var.domain} has merged where its jobs and the orchestrator read it."
  assume_role_policy = data.aws_iam_policy_document.sync_trust.json
}

resource "aws_iam_role_policy" "sync" {
  name   = "sync"
  role   = aws_iam_role.sync.id
  policy = data.aws_iam_policy_document.sync.json
}
