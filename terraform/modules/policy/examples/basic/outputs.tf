output "ontology" {
  description = "The tags as they stand."
  value       = module.policy.ontology
}
