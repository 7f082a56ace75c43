output "role_arn" {
  description = "The role that the orchestrator assumes."
  value       = module.scheduler_role.role_arn
}
