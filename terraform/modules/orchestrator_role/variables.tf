variable "scheduler_role_arns" {
  description = "The domains' scheduler roles, by domain: all that the orchestrator may become."
  type        = map(string)

  validation {
    condition     = alltrue([for domain, arn in var.scheduler_role_arns : can(regex("^arn:aws[a-z-]*:iam::[0-9]{12}:role/cordata-${domain}-scheduler$", arn))])
    error_message = "Each is the role of scheduler_role in that domain's account: arn:aws:iam::<account>:role/cordata-<domain>-scheduler."
  }
}

variable "trusted_services" {
  description = "The services that run the orchestrator: Amazon MWAA's."
  type        = set(string)
  default     = ["airflow.amazonaws.com", "airflow-env.amazonaws.com"]
}
