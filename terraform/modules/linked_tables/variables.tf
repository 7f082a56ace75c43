variable "tables" {
  description = <<-EOT
    Links, as the "database.table" that descriptors of this account name, each with the table that it leads to: its
    owner's account, database and table, and where its files lie, as `shared_tables` of the owner's account puts it out.
  EOT
  type = map(object({
    account  = string
    database = string
    table    = string
    location = string
  }))

  validation {
    condition     = alltrue([for link in keys(var.tables) : can(regex("^[^.A-Z]+\\.[^.A-Z]+$", link))])
    error_message = "A link is written database.table, in lower case as the catalog keeps it."
  }

  validation {
    condition     = alltrue([for table in values(var.tables) : can(regex("^[0-9]{12}$", table.account))])
    error_message = "An account id has twelve digits; quote it, or a leading zero is lost."
  }
}

variable "existing_databases" {
  description = "Databases of this account that hold links and are made elsewhere; the others are made here."
  type        = set(string)
  default     = []
}
