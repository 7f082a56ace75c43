output "function_name" {
  description = "The function that looks at the products."
  value       = aws_lambda_function.this.function_name
}

output "role_arn" {
  description = "The function's role, for grants in Lake Formation on databases beside the descriptors' (DESCRIBE on them and their tables)."
  value       = aws_iam_role.this.arn
}

output "metric_namespace" {
  description = "The namespace of the products' metrics; their dimensions are domain, and domain with product."
  value       = "Cordata/Freshness"
}
