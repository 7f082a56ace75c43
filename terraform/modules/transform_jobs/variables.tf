variable "domain" {
  description = "The domain whose account this is applied in."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9_-]{0,30}$", var.domain))
    error_message = "A domain's name has lower-case letters, digits, _ and -, at most 31."
  }
}

variable "repository_root" {
  description = "Folder that the descriptors' paths start from: a checkout of the domain's repository."
  type        = string
}

variable "transform_jobs" {
  description = <<-EOT
    One job a descriptor. `descriptor` is its path in the domain's repository; `openlineage_enabled` attaches the
    openlineage-spark listener, `lineage_children` also sends what it saw, as child runs. All else has a default: size (`worker_type`, `number_of_workers`), `glue_version`,
    `timeout` in minutes, `extra_conf` for Spark, Glue `connections`, the `secret_arns` of JDBC sources, and the
    `engine`, which can be glue only. What starts a job is one of two: `orchestrated` leaves it to the orchestrator, with
    a `schedule` (five fields of cron, UTC) where no other job makes its source, or with what it `collects` of one that
    is made more often (day, week, month), or with neither, {}, for whenever its source has been made; `schedule`
    (Glue's cron, UTC) is a trigger of Glue's own. With none of the two only people start it.
  EOT
  type = list(object({
    name                = string
    descriptor          = string
    openlineage_enabled = optional(bool, true)
    lineage_children    = optional(bool, false)
    engine              = optional(string, "glue")
    glue_version        = optional(string, "5.1")
    worker_type         = optional(string, "G.1X")
    number_of_workers   = optional(number, 2)
    timeout             = optional(number, 120)
    execution_class     = optional(string, "STANDARD")
    schedule            = optional(string)
    orchestrated        = optional(object({ schedule = optional(string), collects = optional(string) }))
    extra_conf          = optional(map(string), {})
    connections         = optional(list(string), [])
    secret_arns         = optional(list(string), [])
  }))

  validation {
    condition     = length(distinct(var.transform_jobs[*].name)) == length(var.transform_jobs)
    error_message = "Two jobs have one name."
  }

  validation {
    condition     = alltrue([for job in var.transform_jobs : can(regex("^[A-Za-z0-9_-]{1,40}$", job.name))])
    error_message = "A job's name has 1 to 40 letters, digits, _ and -: its role is named after it, and IAM allows 64 characters."
  }

  validation {
    condition     = alltrue([for job in var.transform_jobs : job.openlineage_enabled || !job.lineage_children])
    error_message = "lineage_children sends what the listener saw; it needs openlineage_enabled."
  }

  validation {
    condition     = alltrue([for job in var.transform_jobs : job.engine == "glue"])
    error_message = "The engine is glue; this module knows no other. (A descriptor never names one.)"
  }

  validation {
    condition     = alltrue([for job in var.transform_jobs : contains(["5.1", "6.0"], job.glue_version)])
    error_message = "glue_version is \"5.1\" or \"6.0\", in quotes: a number would lose its last digit."
  }

  validation {
    condition     = alltrue([for job in var.transform_jobs : contains(["G.025X", "G.1X", "G.2X", "G.4X", "G.8X"], job.worker_type)])
    error_message = "worker_type is one of G.025X, G.1X, G.2X, G.4X, G.8X."
  }

  validation {
    condition     = alltrue([for job in var.transform_jobs : contains(["STANDARD", "FLEX"], job.execution_class)])
    error_message = "execution_class is STANDARD or FLEX."
  }

  validation {
    condition = alltrue([for job in var.transform_jobs :
      job.number_of_workers >= 2 && floor(job.number_of_workers) == job.number_of_workers && job.timeout >= 1 && floor(job.timeout) == job.timeout
    ])
    error_message = "number_of_workers is a whole number of at least 2, timeout one of at least 1 (minutes)."
  }

  validation {
    condition     = alltrue([for job in var.transform_jobs : job.schedule == null || job.orchestrated == null])
    error_message = "A job has schedule, a trigger of Glue's, or orchestrated, for the orchestrator; with both it would start twice."
  }

  validation {
    condition     = alltrue([for job in var.transform_jobs : try(job.orchestrated.schedule, null) == null || can(regex("^[0-9*,/LW#A-Za-z-]+( [0-9*,/LW#A-Za-z-]+){4}$", job.orchestrated.schedule))])
    error_message = "orchestrated.schedule has five fields of cron, as 0 5 * * *; Glue's own cron(…) is for schedule."
  }

  validation {
    condition     = alltrue([for job in var.transform_jobs : try(job.orchestrated.collects, null) == null || (contains(["day", "week", "month"], coalesce(try(job.orchestrated.collects, null), "none")) && try(job.orchestrated.schedule, null) == null)])
    error_message = "orchestrated.collects is day, week or month, and then there is no schedule: the job starts when all of that is there."
  }

  validation {
    condition     = alltrue([for job in var.transform_jobs : !startswith(job.descriptor, "/") && !contains(split("/", job.descriptor), "..")])
    error_message = "A descriptor's path is relative to the repository's root, and stays in it."
  }

  validation {
    condition     = alltrue(flatten([for job in var.transform_jobs : [for key, value in job.extra_conf : can(regex("^spark\\.[A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+)*$", key)) && can(regex("^[!#%&()*+,./0-9:;<=>?@A-Z\\[\\]^_a-z{|}~-]+$", value))]]))
    error_message = "extra_conf holds settings of Spark (spark.…) whose values are printable ASCII without spaces, quotes, backslash, backtick and $: all share Glue's one --conf argument."
  }

  validation {
    condition = alltrue(flatten([for job in var.transform_jobs : [for key in keys(job.extra_conf) : !anytrue([
      startswith(key, "spark.openlineage."), startswith(key, "spark.sql.catalog.glue_"), startswith(key, "spark.jars"), key == "spark.submit.pyFiles",
      contains(["spark.sql.session.timeZone", "spark.sql.ansi.enabled", "spark.sql.legacy.timeParserPolicy", "spark.sql.legacy.parameterSubstitution.constantsOnly", "spark.sql.parquet.outputTimestampType", "spark.sql.parquet.datetimeRebaseModeInWrite", "spark.sql.variable.substitute"], key),
    ])]]))
    error_message = "extra_conf sets what the executor sets itself; remove it."
  }
}

variable "artefact_location" {
  description = "Where versions of the executor are published, as s3://bucket/prefix without the version: the output `location` of `executor_artefact`."
  type        = string

  validation {
    condition     = can(regex("^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9._=-]+)*$", var.artefact_location))
    error_message = "Write s3://bucket/prefix, without a slash at the end."
  }
}

variable "executor_version" {
  description = "The version of the executor that the jobs run, such as 0.1.0. Rolling back is naming an earlier one."
  type        = string

  validation {
    condition     = can(regex("^[0-9]+\\.[0-9]+\\.[0-9]+([a-z0-9.+-]*)$", var.executor_version))
    error_message = "Name one published version, such as \"0.1.0\"; there is no latest."
  }
}

variable "bucket_name" {
  description = "Name of the domain's bucket for configuration (`config/`) and evidence (`evidence/`)."
  type        = string

  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$", var.bucket_name))
    error_message = "A bucket's name has 3 to 63 lower-case letters, digits, dots or hyphens."
  }
}

variable "applied_from" {
  description = "Where this is applied, such as terraform/live/prod/domains/fraud: what `sync` tells a domain to apply when a descriptor is not covered yet."
  type        = string
  default     = "the domain's transform_jobs"
}

variable "source_locations" {
  description = "Where sources lie, by database.table, as s3://bucket/prefix/. Needed for tables of other accounts and for tables that are made in the same apply; others are looked up in the catalog."
  type        = map(string)
  default     = {}

  validation {
    condition     = alltrue([for location in values(var.source_locations) : can(regex("^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/.+$", location))])
    error_message = "A location is s3://bucket/prefix/; a whole bucket would be more than the source."
  }
}

variable "foreign_sources" {
  description = "Sources that other accounts own, by the name this account knows them by (database.table of the resource link): the owner's account, database and table."
  type        = map(object({ account = string, database = string, table = string }))
  default     = {}

  validation {
    condition     = alltrue([for source in values(var.foreign_sources) : can(regex("^[0-9]{12}$", source.account))])
    error_message = "An account id has twelve digits; quote it, or a leading zero is lost."
  }
}

variable "existing_targets" {
  description = <<-EOT
    Targets, as "database.table" or "database.table__quarantine", whose tables are in the catalog now: Lake Formation
    grants only on what is there. A job's role needs none for a table that it makes itself, the closer's role does:
    list each target once it is there where Lake Formation, not IAM, decides in the account.
  EOT
  type        = set(string)
  default     = []

  validation {
    condition = length(setsubtract(var.existing_targets, flatten([
      for target in values(local.targets) : ["${target.database}.${target.table}", "${target.database}.${target.table}__quarantine"]
    ]))) == 0
    error_message = "Only targets of these jobs and their quarantines, as \"database.table\"."
  }
}

variable "registered_locations" {
  description = "Locations that are registered with Lake Formation, as s3://bucket or s3://bucket/prefix: a job whose target lies there may make its tables there, and jobs may take data from Lake Formation (full-table access). Locations that roles reach by IAM alone need no entry."
  type        = set(string)
  default     = []

  validation {
    condition     = alltrue([for location in var.registered_locations : can(regex("^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/.*)?$", location))])
    error_message = "A location is s3://bucket or s3://bucket/prefix."
  }
}

variable "lineage_url" {
  description = "The adapter's full address, ending in /lineage. Null turns delivery off: events stay in the evidence prefix."
  type        = string

  validation {
    condition     = var.lineage_url == null || can(regex("^https?://[^/?#@]+(/[^?#]*)?/lineage$", var.lineage_url))
    error_message = "The adapter's address is https://…/lineage, without credentials and query."
  }
}

variable "lineage_invoker_role_arn" {
  description = "The role in the governance account with which this domain's events are signed."
  type        = string
  default     = null
}

variable "governance_catalog_id" {
  description = "The catalog that owns the LF-tags: the governance account's id. Null where the domain's own account owns them."
  type        = string
  default     = null

  validation {
    condition     = var.governance_catalog_id == null || can(regex("^[0-9]{12}$", var.governance_catalog_id))
    error_message = "An account id has twelve digits; quote it, or a leading zero is lost."
  }
}

variable "governance_event_bus_arn" {
  description = "The event bus in the governance account where the closer listens to the jobs' ends. Null leaves it to the sweep."
  type        = string
  default     = null
}

variable "closer_role_arn" {
  description = "The closer's role in the governance account: it may read these jobs' runs and evidence, and claim what a killed run left open."
  type        = string
  default     = null
}

variable "kms_key_arns" {
  description = "Keys that the sources', targets' and the domain bucket's objects are encrypted with. The first one encrypts the domain's bucket, topic and logs, and its policy lets EventBridge and CloudWatch Logs of this region use it; without any, a key is made for these."
  type        = list(string)
  default     = []
}

variable "log_retention_days" {
  description = "Days that the jobs' logs are kept."
  type        = number
  default     = 400
}

variable "owner_emails" {
  description = "Who is told of failures and quarantines, besides other subscribers of the topic."
  type        = set(string)
  default     = []
}

variable "access_log_bucket" {
  description = "The bucket that S3 writes this bucket's access log to, under this bucket's name; null writes none, for accounts whose CloudTrail records reads and writes of objects."
  type        = string
  default     = null
}

variable "force_destroy" {
  description = "Whether destroying the module deletes configuration and evidence as well. For examples only."
  type        = bool
  default     = false
}
