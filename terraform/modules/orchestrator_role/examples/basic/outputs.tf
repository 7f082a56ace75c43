output "role_arn" {
  description = "The orchestrator's execution role."
  value       = module.orchestrator_role.role_arn
}
