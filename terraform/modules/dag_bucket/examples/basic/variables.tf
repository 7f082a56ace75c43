variable "deployments" {
  description = "As whom the orchestrator starts which jobs, and when, by domain."
  type = map(object({
    role_arn = string
    jobs     = map(object({ descriptor = string, schedule = optional(string) }))
  }))
  default = {
    fraud = {
      role_arn = "arn:aws:iam::444455556666:role/cordata-fraud-scheduler"
      jobs     = { transactions_scored_daily = { descriptor = "domains/fraud/pipelines/transactions_scored.yml", schedule = "0 5 * * *" } }
    }
  }
}
