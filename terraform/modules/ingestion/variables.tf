variable "domain" {
  description = "The domain whose account this is applied in: source credentials and raw rows stay there."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,30}$", var.domain))
    error_message = "A domain's name has lower-case letters, digits and -, at most 31."
  }
}

variable "landing_bucket_name" {
  description = "Name of the bucket that the replication lands in."
  type        = string

  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$", var.landing_bucket_name))
    error_message = "A bucket's name has 3 to 63 lower-case letters, digits, dots or hyphens."
  }
}

variable "landing_retention_days" {
  description = "Days after which landed files are removed; null keeps them. A backfill is possible only while they are there."
  type        = number
  default     = null
}

variable "database" {
  description = "The Glue database that the landing tables are registered in, such as policy_raw."
  type        = string

  validation {
    condition     = can(regex("^[a-z0-9_]{1,255}$", var.database))
    error_message = "A database's name has lower-case letters, digits and _."
  }
}

variable "source_system" {
  description = "The source database: DMS engine name, host, port, database, and the secret in Secrets Manager that holds username and password."
  type = object({
    engine        = string
    database_name = string
    secret_arn    = string
    ssl_mode      = optional(string, "require")
  })

  validation {
    condition     = contains(["aurora", "aurora-postgresql", "mariadb", "mysql", "oracle", "postgres", "sqlserver"], var.source_system.engine)
    error_message = "The engine is one of aurora, aurora-postgresql, mariadb, mysql, oracle, postgres, sqlserver."
  }

  validation {
    condition     = can(regex("^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:.+$", var.source_system.secret_arn))
    error_message = "Credentials come from a secret, named by its ARN; never write them here."
  }

  validation {
    condition     = contains(["require", "verify-ca", "verify-full"], var.source_system.ssl_mode)
    error_message = "The connection to the source is encrypted: require, verify-ca or verify-full."
  }
}

variable "tables" {
  description = <<-EOT
    The source tables to replicate, by the name of their landing table. `columns` are those of the source, in Glue's
    types. `primary_keys` is what changes are collapsed by.
  EOT
  type = map(object({
    schema       = string
    table        = string
    columns      = list(object({ name = string, type = string }))
    primary_keys = list(string)
    lf_tags      = optional(map(string), {})
  }))

  validation {
    condition     = length(var.tables) > 0
    error_message = "Name at least one table."
  }

  validation {
    condition     = alltrue([for table in values(var.tables) : length(table.primary_keys) > 0 && length(setsubtract(table.primary_keys, table.columns[*].name)) == 0])
    error_message = "Each table needs primary_keys, and they must be among its columns: changes are collapsed by them."
  }

  validation {
    condition     = alltrue([for table in values(var.tables) : length(setintersection(table.columns[*].name, ["op", "cdc_commit_ts", "cdc_sequence"])) == 0])
    error_message = "op, cdc_commit_ts and cdc_sequence are the replication's own columns; the source cannot have them too."
  }
}

variable "subnet_ids" {
  description = "Private subnets, in two availability zones at least, from which the source and S3 can be reached."
  type        = set(string)

  validation {
    condition     = length(var.subnet_ids) >= 2
    error_message = "DMS asks for subnets in two availability zones at least."
  }
}

variable "security_group_ids" {
  description = "Security groups of the replication instance."
  type        = set(string)

  validation {
    condition     = length(var.security_group_ids) > 0
    error_message = "Name at least one security group; the VPC's default one is open to all that is in it."
  }
}

variable "instance_class" {
  description = "Size of the replication instance."
  type        = string
  default     = "dms.t3.medium"

  validation {
    condition     = startswith(var.instance_class, "dms.")
    error_message = "A replication instance's class starts with dms., such as dms.t3.medium."
  }
}

variable "instance_storage_gb" {
  description = "Storage of the replication instance in GB: what changes wait in while the target is slow."
  type        = number
  default     = 50
}

variable "engine_version" {
  description = "DMS engine version."
  type        = string
  default     = "3.6.1"
}

variable "kms_key_arn" {
  description = "Key that encrypts the landing bucket and the replication instance."
  type        = string

  validation {
    condition     = can(regex("^arn:aws[a-z-]*:kms:.+$", var.kms_key_arn))
    error_message = "Name the key by its ARN."
  }
}

variable "governance_catalog_id" {
  description = "The catalog that owns the LF-tags: the governance account's id."
  type        = string

  validation {
    condition     = can(regex("^[0-9]{12}$", var.governance_catalog_id))
    error_message = "An account id has twelve digits; quote it, or a leading zero is lost."
  }
}

variable "ingest" {
  description = <<-EOT
    Makes the role that `python -m pipeline_runtime ingest` runs in, to tell of this replication as runs; null makes none.
    `evidence` is the domain's evidence prefix, `evidence_key_arns` keys of yours that it is encrypted with (the key that
    `transform_jobs` makes needs no mention), `lineage_invoker_role_arn` what signs its lineage. `role_arns` may assume it,
    of this account and existing or not: the domain's scheduler, where the orchestrator runs `ingest` itself; so may the
    AWS `services` that run it here, such as ecs-tasks.amazonaws.com. `may_stop` is for `--stop`.
  EOT
  type = object({
    evidence                 = string
    evidence_key_arns        = optional(set(string), [])
    lineage_invoker_role_arn = optional(string)
    role_arns                = optional(set(string), [])
    services                 = optional(set(string), [])
    may_stop                 = optional(bool, false)
  })
  default = null

  validation {
    condition     = var.ingest == null || can(regex("^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/.*[^/]$", var.ingest.evidence))
    error_message = "ingest.evidence is s3://bucket/prefix, without a slash at the end."
  }

  validation {
    condition     = var.ingest == null || try(length(var.ingest.role_arns) + length(var.ingest.services), 0) > 0
    error_message = "Say who may run `ingest`: role_arns, such as the domain's scheduler, or services, such as ecs-tasks.amazonaws.com."
  }

  validation {
    condition     = alltrue([for arn in try(setunion(var.ingest.role_arns, compact([var.ingest.lineage_invoker_role_arn])), []) : can(regex("^arn:aws[a-z-]*:iam::[0-9]{12}:role/[A-Za-z0-9+=,.@_/-]+$", arn))])
    error_message = "Name roles by their ARNs, such as arn:aws:iam::555566667777:role/cordata-policy-scheduler; an account or * is too wide for what may start a replication."
  }

  validation {
    condition     = alltrue([for service in try(var.ingest.services, []) : can(regex("^[a-z0-9-]+(\\.[a-z0-9-]+)*\\.amazonaws\\.com$", service))])
    error_message = "A service is named as ecs-tasks.amazonaws.com."
  }
}

variable "access_log_bucket" {
  description = "The bucket that S3 writes this bucket's access log to, under this bucket's name; null writes none, for accounts whose CloudTrail records reads and writes of objects."
  type        = string
  default     = null
}

variable "force_destroy" {
  description = "Whether destroying the module deletes landed files as well. For examples only."
  type        = bool
  default     = false
}
