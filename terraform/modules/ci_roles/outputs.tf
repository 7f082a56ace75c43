output "check_role_arn" {
  description = "The input `check_role` of the domain's workflow."
  value       = aws_iam_role.check.arn
}

output "sync_role_arn" {
  description = "The input `sync_role` of the domain's workflow."
  value       = aws_iam_role.sync.arn
}
