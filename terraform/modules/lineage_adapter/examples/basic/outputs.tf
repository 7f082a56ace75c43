output "lineage_url" {
  description = "What the domains' `lineage_url` is set to."
  value       = module.lineage_adapter.lineage_url
}
