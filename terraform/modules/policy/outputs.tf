output "catalog_id" {
  description = "The catalog that owns the ontology: what `governance_catalog` of the domains' jobs is set to."
  value       = data.aws_caller_identity.this.account_id
}

output "ontology" {
  description = "The tags as they stand: key to its values, sorted."
  value       = { for key, tag in aws_lakeformation_lf_tag.this : key => sort(tag.values) }
}
