output "bucket" {
  description = "The bucket's name."
  value       = aws_s3_bucket.this.id
}

output "location" {
  description = "Where versions are published: what `make publish DESTINATION=…` and the jobs' `artefact_location` are set to."
  value       = "s3://${aws_s3_bucket.this.id}/${trimsuffix(local.prefix, "/")}"
}
