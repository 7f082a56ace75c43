variable "tables" {
  description = <<-EOT
    Tables of this account that others read, as "database.table", each with the accounts of its readers by domain. Lake
    Formation must govern the table: the group IAMAllowedPrincipals holds nothing on it. Readers that reach the files by
    IAM, not by Lake Formation's credentials, need the policy of the table's bucket to let them in as well.
  EOT
  type        = map(map(string))

  validation {
    condition     = alltrue([for table in keys(var.tables) : can(regex("^[^.A-Z]+\\.[^.A-Z]+$", table))])
    error_message = "A table is written database.table, in lower case as the catalog keeps it."
  }

  validation {
    condition     = alltrue([for consumers in values(var.tables) : length(consumers) > 0])
    error_message = "A share that nobody reads is none; remove the table."
  }

  validation {
    condition     = alltrue(flatten([for consumers in values(var.tables) : [for account in values(consumers) : can(regex("^[0-9]{12}$", account))]]))
    error_message = "An account id has twelve digits; quote it, or a leading zero is lost."
  }
}
