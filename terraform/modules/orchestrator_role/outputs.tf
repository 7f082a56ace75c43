output "role_arn" {
  description = "The orchestrator's execution role."
  value       = aws_iam_role.this.arn
}
