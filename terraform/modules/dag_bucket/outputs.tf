output "bucket" {
  description = "The bucket's name."
  value       = aws_s3_bucket.this.id
}

output "dags" {
  description = "The folder of DAGs: what an environment of Amazon MWAA is told as its dag_s3_path, as s3://…."
  value       = "s3://${aws_s3_bucket.this.id}/dags"
}

output "descriptor_folders" {
  description = "Where each domain's CI puts its descriptors: the input `dags` of its workflow."
  value       = { for domain, folder in local.descriptors : domain => "s3://${aws_s3_bucket.this.id}/${folder}" }
}
