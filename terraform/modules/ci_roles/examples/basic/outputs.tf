output "sync_role_arn" {
  description = "The role of a merge."
  value       = module.ci_roles.sync_role_arn
}
