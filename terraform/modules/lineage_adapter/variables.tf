variable "datazone_domain_id" {
  description = "The DataZone domain that every event is posted to: its id, not its name."
  type        = string

  validation {
    condition     = can(regex("^dzd[-_][a-zA-Z0-9_-]{1,36}$", var.datazone_domain_id))
    error_message = "A DataZone domain's id looks like dzd_4x1abc; the console shows it on the domain's page."
  }
}

variable "adapter_zip" {
  description = "Path of the adapter's zip, as `make adapter` leaves it."
  type        = string
}

variable "executor_zip" {
  description = "Path of the executor's zip, as `make artefact` leaves it: the closer is a part of it."
  type        = string
}

variable "domains" {
  description = <<-EOT
    The domains, by name: their account, the names of their Glue jobs, and their evidence prefix, as
    `transform_jobs` makes them. Each gets a role to post its own lineage with, and a closer for its runs. `ingests` lets
    the role of `ingestion` that tells of the domain's replication post as well.
  EOT
  type = map(object({
    account   = string
    job_names = set(string)
    evidence  = string
    ingests   = optional(bool, false)
  }))

  validation {
    condition     = alltrue([for name in keys(var.domains) : can(regex("^[a-z][a-z0-9_-]{0,30}$", name))])
    error_message = "A domain's name has lower-case letters, digits, _ and -, at most 31."
  }

  validation {
    condition     = alltrue([for domain in values(var.domains) : can(regex("^[0-9]{12}$", domain.account))])
    error_message = "An account id has twelve digits; quote it, or a leading zero is lost."
  }

  validation {
    condition     = alltrue([for domain in values(var.domains) : can(regex("^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/.*[^/]$", domain.evidence))])
    error_message = "The evidence prefix is s3://bucket/prefix, without a slash at the end."
  }

  validation {
    condition     = alltrue([for domain in values(var.domains) : length(domain.job_names) > 0])
    error_message = "Name each domain's jobs; a closer without jobs closes nothing."
  }
}

variable "keyed_emitters_enabled" {
  description = "Whether emitters that can only send a Bearer key (dbt-ol, Airflow's provider) have a route of their own."
  type        = bool
  default     = true
}

variable "stream_enabled" {
  description = "Whether a Kinesis stream takes events as well, for volumes that an API is too small for. Who may put to it speaks for the domains in `stream_domains`."
  type        = bool
  default     = false
}

variable "stream_domains" {
  description = "The domains whose events the stream may carry; [\"*\"] for all."
  type        = set(string)
  default     = ["*"]
}

variable "kms_key_arn" {
  description = "Key for the queues, the stream, the secret, the functions' settings, their logs and the dead letters' payloads; AWS's own keys without one. Its policy lets CloudWatch Logs of this region use it."
  type        = string
  default     = null
}

variable "payload_bucket_name" {
  description = "Name of the bucket for dead letters that are too large for a message."
  type        = string

  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$", var.payload_bucket_name))
    error_message = "A bucket's name has 3 to 63 lower-case letters, digits, dots or hyphens."
  }
}

variable "payload_retention_days" {
  description = "Days that dead letters' payloads are kept; their messages are kept for 14."
  type        = number
  default     = 400

  validation {
    condition     = var.payload_retention_days >= 15 && floor(var.payload_retention_days) == var.payload_retention_days
    error_message = "A whole number of days, at least 15: a payload outlives its message."
  }
}

variable "alarm_topic_arn" {
  description = "The topic that alarms go to; alarms change their state unheard without one."
  type        = string
  default     = null
}

variable "throttling" {
  description = "The API's limits: requests a second, and the burst above it. DataZone throttles far below API Gateway's own limits."
  type        = object({ rate = number, burst = number })
  default     = { rate = 50, burst = 100 }

  validation {
    condition     = var.throttling.rate > 0 && var.throttling.burst >= 1
    error_message = "A rate and a burst of nothing let nothing in."
  }
}

variable "reserved_concurrency" {
  description = "How many events are handled at a time, so that retries do not add to DataZone's throttling; -1 for no limit."
  type        = number
  default     = 20
}

variable "log_retention_days" {
  description = "Days that logs are kept."
  type        = number
  default     = 400
}

variable "sweep_minutes" {
  description = "How often the closer looks for runs whose end no event told."
  type        = number
  default     = 15

  validation {
    condition     = var.sweep_minutes >= 5 && floor(var.sweep_minutes) == var.sweep_minutes
    error_message = "A whole number of minutes, at least 5."
  }
}

variable "endpoint_url" {
  description = "A stand-in for AWS that the functions talk to. For tests only; a deployment leaves it out."
  type        = string
  default     = null
}

variable "access_log_bucket" {
  description = "The bucket that S3 writes this bucket's access log to, under this bucket's name; null writes none, for accounts whose CloudTrail records reads and writes of objects."
  type        = string
  default     = null
}

variable "force_destroy" {
  description = "Whether destroying the module deletes dead letters' payloads as well. For examples only."
  type        = bool
  default     = false
}
