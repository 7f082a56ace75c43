variable "scheduler_role_arns" {
  description = "The domains' scheduler roles, by domain: all that the orchestrator may become."
  type        = map(string)

  validation {
    condition     = alltrue([for domain, arn in var.scheduler_role_arns : can(regex("^arn:aws[a-z-]*:iam::[0-9]{12}:role/cordata-${domain}-scheduler$", arn))])
    error_message = "Each is the role of scheduler_role in that domain's account: arn:aws:iam::<account>:role/cordata-<domain>-scheduler."
  }
}

variable "dag_bucket_name" {
  description = "The bucket of `dag_bucket`, which the environment reads; null for an orchestrator that has its files from elsewhere."
  type        = string
  default     = null
}

variable "environment_name" {
  description = "The name of the Amazon MWAA environment that this is the execution role of: gives the role that environment's own logs, metrics, queue and connections. Null gives none of it."
  type        = string
  default     = null

  validation {
    condition     = var.environment_name == null || can(regex("^[A-Za-z][0-9A-Za-z_-]{0,79}$", coalesce(var.environment_name, "none")))
    error_message = "An environment's name has 1 to 80 letters, digits, _ and -, the first a letter."
  }
}

variable "trusted_services" {
  description = "The services that run the orchestrator: Amazon MWAA's."
  type        = set(string)
  default     = ["airflow.amazonaws.com", "airflow-env.amazonaws.com"]
}
