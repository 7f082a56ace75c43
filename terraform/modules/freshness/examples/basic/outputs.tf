output "function_name" {
  description = "The function that looks at the products."
  value       = module.freshness.function_name
}
