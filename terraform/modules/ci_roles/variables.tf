variable "domain" {
  description = "The domain whose account this is applied in."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9_-]{0,30}$", var.domain))
    error_message = "A domain's name has lower-case letters, digits, _ and -, at most 31."
  }
}

variable "oidc_provider_arn" {
  description = "The account's identity provider for GitHub's workflows: it says which repository and branch a run is of."
  type        = string

  validation {
    condition     = can(regex("^arn:aws[a-z-]*:iam::[0-9]{12}:oidc-provider/token\\.actions\\.githubusercontent\\.com$", var.oidc_provider_arn))
    error_message = "Name GitHub's provider by its ARN, arn:aws:iam::444455556666:oidc-provider/token.actions.githubusercontent.com."
  }
}

variable "repository" {
  description = "The domain's repository, as owner/name: no other may assume the roles."
  type        = string

  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+$", var.repository))
    error_message = "A repository is named owner/name, such as cordata/fraud-pipelines, without a host or a wildcard."
  }
}

variable "default_branch" {
  description = "The branch whose merges are synced."
  type        = string
  default     = "main"

  validation {
    condition     = can(regex("^[A-Za-z0-9._/-]+$", var.default_branch))
    error_message = "Name one branch, such as main; a wildcard would let anybody's branch be synced."
  }
}

variable "artefact_location" {
  description = "Where versions of the executor are published: the output `location` of `executor_artefact`."
  type        = string

  validation {
    condition     = can(regex("^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/.*[^/]$", var.artefact_location))
    error_message = "Write s3://bucket/prefix, without a slash at the end."
  }
}

variable "config" {
  description = "The prefix that the jobs read: the output `config` of `transform_jobs`."
  type        = string

  validation {
    condition     = can(regex("^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/.*[^/]$", var.config))
    error_message = "Write s3://bucket/prefix, without a slash at the end."
  }
}

variable "config_key_arns" {
  description = "Keys of yours that the configuration is encrypted with; the key that `transform_jobs` makes needs no mention."
  type        = set(string)
  default     = []
}

variable "dags" {
  description = "Where the orchestrator reads this domain's descriptors: its entry of `descriptor_folders` of `dag_bucket`. Null where no orchestrator does."
  type        = string
  default     = null

  validation {
    condition     = var.dags == null || can(regex("^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/.+/domains/${var.domain}/pipelines$", var.dags))
    error_message = "The folder is the domain's own: s3://<bucket>/dags/domains/<domain>/pipelines."
  }
}
