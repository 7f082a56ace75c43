output "dags" {
  description = "The folder of DAGs."
  value       = module.dag_bucket.dags
}
