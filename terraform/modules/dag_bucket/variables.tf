variable "bucket_name" {
  description = "Name of the bucket that the orchestrator's environment reads its DAGs from."
  type        = string

  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$", var.bucket_name))
    error_message = "A bucket's name has 3 to 63 lower-case letters, digits, dots or hyphens."
  }
}

variable "deployments" {
  description = "As whom the orchestrator starts which jobs, and when, by domain: `deployment` of each domain's `scheduler_role`. Goes into dags/deployment.json."
  type = map(object({
    role_arn    = string
    external_id = optional(string)
    jobs = map(object({
      descriptor = string
      schedule   = optional(string)
      collects   = optional(string)
    }))
  }))

  validation {
    condition     = alltrue([for entry in values(var.deployments) : can(regex("^arn:aws[a-z-]*:iam::[0-9]{12}:role/.+$", entry.role_arn))])
    error_message = "role_arn is a role's ARN, such as arn:aws:iam::444455556666:role/cordata-fraud-scheduler."
  }

  validation {
    condition     = alltrue(flatten([for domain, entry in var.deployments : [for job in values(entry.jobs) : startswith(job.descriptor, "domains/${domain}/pipelines/")]]))
    error_message = "A domain's descriptors lie in domains/<domain>/pipelines/, where its CI puts them; `orchestrated_jobs` of transform_jobs names them so."
  }

  validation {
    condition     = alltrue([for entry in values(var.deployments) : length(distinct(values(entry.jobs)[*].descriptor)) == length(entry.jobs)])
    error_message = "Two jobs have one descriptor, and the orchestrator could not tell which to start: leave `orchestrated` out of one of them in transform_jobs."
  }
}

variable "descriptor_writer_arns" {
  description = "The role of each domain's CI that copies its descriptors here on merge, by domain: it may write them below dags/domains/<domain>/pipelines/, and nothing else. It need not exist yet."
  type        = map(string)
  default     = {}

  validation {
    condition     = alltrue([for arn in values(var.descriptor_writer_arns) : can(regex("^arn:aws[a-z-]*:iam::[0-9]{12}:role/[A-Za-z0-9+=,.@_/-]+$", arn))])
    error_message = "Name each role by its ARN, such as arn:aws:iam::444455556666:role/cordata-fraud-ci-sync."
  }

  validation {
    condition     = alltrue([for domain in keys(var.descriptor_writer_arns) : can(regex("^[a-z][a-z0-9_-]{0,30}$", domain))])
    error_message = "A domain's name has lower-case letters, digits, _ and -, at most 31."
  }
}

variable "retries" {
  description = "How often the orchestrator tries a run again where that can help; null leaves it to its default."
  type        = number
  default     = null

  validation {
    condition     = var.retries == null || (coalesce(var.retries, 0) >= 0 && floor(coalesce(var.retries, 0)) == coalesce(var.retries, 0))
    error_message = "A whole number, 0 or more."
  }
}

variable "retry_seconds" {
  description = "Seconds before the first of these tries; null leaves it to the default."
  type        = number
  default     = null

  validation {
    condition     = var.retry_seconds == null || coalesce(var.retry_seconds, 1) > 0
    error_message = "More than 0 seconds."
  }
}

variable "poll_seconds" {
  description = "Seconds between two looks at a job run; null leaves it to the default."
  type        = number
  default     = null

  validation {
    condition     = var.poll_seconds == null || coalesce(var.poll_seconds, 1) > 0
    error_message = "More than 0 seconds."
  }
}

variable "access_log_bucket" {
  description = "The bucket that S3 writes this bucket's access log to, under this bucket's name; null writes none, for accounts whose CloudTrail records reads and writes of objects."
  type        = string
  default     = null
}

variable "force_destroy" {
  description = "Whether destroying the module deletes what is in the bucket as well. For examples only."
  type        = bool
  default     = false
}
