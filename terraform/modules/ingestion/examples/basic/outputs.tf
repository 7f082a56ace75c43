output "replication_task_arn" {
  description = "The task that the ingestion's scheduler starts and follows."
  value       = module.ingestion.replication_task_arn
}
