output "foreign_sources" {
  description = "The tables that the links lead to: `foreign_sources` of the jobs that read them."
  value       = { for link, table in var.tables : link => { account = table.account, database = table.database, table = table.table } }

  # A grant on a link that is not there yet fails.
  depends_on = [aws_glue_catalog_table.this]
}

output "source_locations" {
  description = "Where their files lie: `source_locations` of the jobs that read them."
  value       = { for link, table in var.tables : link => table.location }
}
