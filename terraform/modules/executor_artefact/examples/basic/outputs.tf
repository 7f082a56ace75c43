output "location" {
  description = "Where versions are published."
  value       = module.executor_artefact.location
}
