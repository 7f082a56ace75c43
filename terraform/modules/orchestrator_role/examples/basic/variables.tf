variable "scheduler_role_arns" {
  description = "The domains' scheduler roles, by domain."
  type        = map(string)
  default     = { fraud = "arn:aws:iam::444455556666:role/cordata-fraud-scheduler" }
}
