output "job_names" {
  description = "The jobs."
  value       = module.transform_jobs.job_names
}

output "config" {
  description = "Where the domain's CI syncs to."
  value       = module.transform_jobs.config
}

output "job_role_arns" {
  description = "Each job's role."
  value       = module.transform_jobs.job_role_arns
}
