output "role_arn" {
  description = "The role that the orchestrator assumes to start this domain's jobs."
  value       = aws_iam_role.this.arn
}

output "role_name" {
  description = "The role's name."
  value       = aws_iam_role.this.name
}
