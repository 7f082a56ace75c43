variable "domain_accounts" {
  description = "The domains' accounts, by name."
  type        = map(string)
  default     = { fraud = "444455556666" }
}
