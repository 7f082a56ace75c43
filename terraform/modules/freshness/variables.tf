variable "domain" {
  description = "The domain whose account this is applied in, and whose products are watched."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9_-]{0,30}$", var.domain))
    error_message = "A domain's name has lower-case letters, digits, _ and -, at most 31."
  }
}

variable "executor_zip" {
  description = "Path of the executor's zip, as `make artefact` leaves it: the watch is a part of it."
  type        = string
}

variable "repository_root" {
  description = "Folder that the descriptors' paths start from: a checkout of the domain's repository."
  type        = string
}

variable "descriptors" {
  description = "The domain's descriptors, by their paths in the repository: their products are due from when they are first seen on, and their metadata may be read."
  type        = set(string)

  validation {
    condition     = length(var.descriptors) > 0 && alltrue([for path in var.descriptors : !startswith(path, "/") && !contains(split("/", path), "..")])
    error_message = "Name at least one descriptor; each path is relative to the repository's root, and stays in it."
  }
}

variable "evidence" {
  description = "The evidence prefix of the domain's jobs, as s3://bucket/prefix."
  type        = string

  validation {
    condition     = can(regex("^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/.*[^/]$", var.evidence))
    error_message = "Write s3://bucket/prefix, without a slash at its end."
  }
}

variable "owner_topic_arn" {
  description = "The topic that owners are told by: `owner_topic_arn` of `transform_jobs`."
  type        = string

  validation {
    condition     = can(regex("^arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]{1,256}$", var.owner_topic_arn))
    error_message = "Name the topic by its ARN, such as arn:aws:sns:eu-central-1:444455556666:cordata-fraud-owners."
  }
}

variable "check_minutes" {
  description = "How often products are looked at, in minutes: the longest that a breach is unheard of."
  type        = number
  default     = 15

  validation {
    condition     = var.check_minutes >= 2 && var.check_minutes <= 360 && floor(var.check_minutes) == var.check_minutes
    error_message = "A whole number of 2 to 360 minutes."
  }
}

variable "further_metadata_arns" {
  description = "S3 ARNs of the metadata folders of products that are registered and in no descriptor here, such as arn:aws:s3:::bucket/table/metadata/*."
  type        = set(string)
  default     = []
}

variable "alarm_topic_arn" {
  description = "The topic that alarms about the watch itself go to; alarms change their state unheard without one."
  type        = string
  default     = null
}

variable "kms_key_arn" {
  description = "The key that encrypts the function's variables and its log; AWS's own without one."
  type        = string
  default     = null
}

variable "data_key_arns" {
  description = "Keys that the evidence, the products' metadata and the owners' topic are encrypted with."
  type        = set(string)
  default     = []
}

variable "log_retention_days" {
  description = "How long the function's log is kept, in days."
  type        = number
  default     = 365
}

variable "endpoint_url" {
  description = "Where AWS is, for tests against a stand-in; null is AWS."
  type        = string
  default     = null
}
