variable "adapter_zip" {
  description = "The adapter's zip."
  type        = string
}

variable "executor_zip" {
  description = "The executor's zip."
  type        = string
}

variable "domains" {
  description = "The domains, by name."
  type = map(object({
    account   = string
    job_names = set(string)
    evidence  = string
  }))
  default = {
    fraud = {
      account   = "444455556666"
      job_names = ["transactions_scored_daily"]
      evidence  = "s3://cordata-fraud-pipelines-example/evidence"
    }
  }
}
