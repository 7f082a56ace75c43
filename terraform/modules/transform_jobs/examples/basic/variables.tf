variable "transform_jobs" {
  description = "One job a descriptor."
  type = list(object({
    name                = string
    descriptor          = string
    openlineage_enabled = optional(bool, true)
    schedule            = optional(string)
  }))
  default = [
    {
      name                = "transactions_scored_daily"
      descriptor          = "domains/fraud/pipelines/transactions_scored.yml"
      openlineage_enabled = true
      schedule            = "cron(0 3 * * ? *)"
    },
  ]
}
