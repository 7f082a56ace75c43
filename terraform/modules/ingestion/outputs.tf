output "replication_task_arn" {
  description = "The task that the ingestion's scheduler starts and follows."
  value       = aws_dms_replication_task.this.replication_task_arn
}

output "landing_bucket" {
  description = "The bucket that files land in."
  value       = aws_s3_bucket.landing.id
}

output "tables" {
  description = "The landing tables, by name: database.table and where they lie."
  value       = { for name, table in aws_glue_catalog_table.this : name => { fqn = "${table.database_name}.${table.name}", location = table.storage_descriptor[0].location } }
}

output "ingest_role_arn" {
  description = "The role that `ingest` runs in; null without one."
  value       = one(values(aws_iam_role.ingest)[*].arn)
}
