output "bucket" {
  description = "The bucket's name."
  value       = aws_s3_bucket.this.id
}

output "location" {
  description = "Where versions are published: what `make publish DESTINATION=…` and the jobs' `artefact_location` are set to."
  value       = "s3://${aws_s3_bucket.this.id}/${trimsuffix(local.prefix, "/")}"
}

output "domain_repositories" {
  description = "The list of domain repositories, as s3://…: the input `repositories` of a producer's workflow; null without one."
  value       = length(var.domain_repositories) == 0 ? null : "s3://${aws_s3_bucket.this.id}/${aws_s3_object.domain_repositories[0].key}"
}
