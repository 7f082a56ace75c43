output "tables" {
  description = "What readers link to."
  value       = module.shared_tables.tables
}
