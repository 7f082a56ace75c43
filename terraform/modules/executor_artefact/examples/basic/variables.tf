variable "reader_accounts" {
  description = "The accounts whose jobs fetch the executor, by name."
  type        = map(string)
  default     = { fraud = "444455556666" }
}
