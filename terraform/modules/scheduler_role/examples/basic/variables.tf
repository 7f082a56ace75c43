variable "job_names" {
  description = "The jobs that may be started."
  type        = set(string)
  default     = ["transactions_scored_daily"]
}
