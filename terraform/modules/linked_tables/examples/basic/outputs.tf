output "foreign_sources" {
  description = "What the links lead to."
  value       = module.linked_tables.foreign_sources
}
