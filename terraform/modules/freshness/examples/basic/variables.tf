variable "executor_zip" {
  description = "The executor's zip."
  type        = string
}

variable "descriptors" {
  description = "The descriptors whose products are watched."
  type        = set(string)
  default     = ["domains/fraud/pipelines/transactions_scored.yml"]
}
