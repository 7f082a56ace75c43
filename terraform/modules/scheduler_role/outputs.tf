output "role_arn" {
  description = "The role that the orchestrator assumes to start this domain's jobs."
  value       = aws_iam_role.this.arn
}

output "role_name" {
  description = "The role's name."
  value       = aws_iam_role.this.name
}

output "deployment" {
  description = "What the orchestrator is told of this domain: as whom it starts which jobs, and when. `dag_bucket` writes it down."
  value = {
    role_arn    = aws_iam_role.this.arn
    external_id = var.external_id
    jobs        = var.orchestrated_jobs
  }
}
