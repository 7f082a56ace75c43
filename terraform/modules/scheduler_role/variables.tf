variable "domain" {
  description = "The domain whose jobs may be started."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9_-]{0,30}$", var.domain))
    error_message = "A domain's name has lower-case letters, digits, _ and -, at most 31."
  }
}

variable "scheduler_principal_arns" {
  description = "The roles in the automation account that may assume this one: the orchestrator's execution role."
  type        = set(string)

  validation {
    condition     = length(var.scheduler_principal_arns) > 0 && alltrue([for arn in var.scheduler_principal_arns : can(regex("^arn:aws[a-z-]*:iam::[0-9]{12}:role/.+$", arn))])
    error_message = "Name at least one role by its ARN; a whole account or * is too wide for a role that starts production."
  }
}

variable "job_names" {
  description = "The Glue jobs of the domain that may be started and followed, no others."
  type        = set(string)

  validation {
    condition     = length(var.job_names) > 0 && !contains(var.job_names, "*")
    error_message = "Name the jobs; an empty list grants nothing, and * more than the domain's own."
  }
}

variable "orchestrated_jobs" {
  description = "Those of the jobs that the orchestrator starts, and when: `orchestrated_jobs` of `transform_jobs`. The role can start others all the same, for a backfill."
  type = map(object({
    descriptor = string
    schedule   = optional(string)
    collects   = optional(string)
  }))
  default = {}

  validation {
    condition     = length(setsubtract(keys(var.orchestrated_jobs), var.job_names)) == 0
    error_message = "The orchestrator would start a job that the role may not; each name in orchestrated_jobs is also in job_names."
  }
}

variable "ingest_role_arns" {
  description = "The roles of this account that tell of replications (`ingest_role_arn` of `ingestion`), where the orchestrator itself runs `ingest`. Who is such a role may read its source's credentials."
  type        = set(string)
  default     = []

  validation {
    condition     = alltrue([for arn in var.ingest_role_arns : can(regex("^arn:aws[a-z-]*:iam::[0-9]{12}:role/cordata-.+-ingest$", arn))])
    error_message = "Each is a role of the module ingestion: arn:aws:iam::<account>:role/cordata-<domain>-ingest."
  }
}

variable "external_id" {
  description = "A value that the orchestrator must present when it assumes the role, if set."
  type        = string
  default     = null
}

variable "max_session_seconds" {
  description = "How long one session lasts, in seconds: at least as long as the longest job is followed."
  type        = number
  default     = 14400

  validation {
    condition     = var.max_session_seconds >= 3600 && var.max_session_seconds <= 43200
    error_message = "IAM allows 3,600 to 43,200 seconds."
  }
}
