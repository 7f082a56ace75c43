variable "bucket_name" {
  description = "Name of the bucket that holds every published version of the executor, under `pipeline-runtime/<version>/`."
  type        = string

  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$", var.bucket_name))
    error_message = "A bucket's name has 3 to 63 lower-case letters, digits, dots or hyphens."
  }
}

variable "reader_accounts" {
  description = "The AWS accounts whose jobs fetch the executor: every domain's, by name, and the governance account for the closer."
  type        = map(string)
  default     = {}

  validation {
    condition     = alltrue([for account in values(var.reader_accounts) : can(regex("^[0-9]{12}$", account))])
    error_message = "An account id has twelve digits; quote it, or a leading zero is lost."
  }
}

variable "publisher_arns" {
  description = "The roles that publish a version: the platform's CI. Anyone else can only read."
  type        = set(string)

  validation {
    condition     = length(var.publisher_arns) > 0 && alltrue([for arn in var.publisher_arns : can(regex("^arn:aws[a-z-]*:iam::[0-9]{12}:role/.+$", arn))])
    error_message = "Name at least one role by its ARN, such as arn:aws:iam::111122223333:role/platform-ci."
  }
}

variable "domain_repositories" {
  description = "Where each deployed domain's descriptors are kept, as owner/name, by domain: the list that producers' builds clone and ask. None writes no list."
  type        = map(string)
  default     = {}

  validation {
    condition     = alltrue([for repository in values(var.domain_repositories) : can(regex("^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+$", repository))])
    error_message = "A repository is named owner/name, such as cordata/fraud-pipelines, without a host."
  }
}

variable "access_log_bucket" {
  description = "The bucket that S3 writes this bucket's access log to, under this bucket's name; null writes none, for accounts whose CloudTrail records reads and writes of objects."
  type        = string
  default     = null
}

variable "force_destroy" {
  description = "Whether destroying the module deletes published versions as well. For examples only."
  type        = bool
  default     = false
}
