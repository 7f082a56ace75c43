variable "ontology" {
  description = "The LF-tags that data products are described with: key to the values it may take. Lake Formation stores both in lower case."
  type        = map(set(string))

  validation {
    condition     = length(var.ontology) > 0
    error_message = "The ontology has no key. Declare at least one, such as sensitivity = [\"low\", \"high\"]."
  }

  validation {
    condition     = alltrue([for key, values in var.ontology : key == lower(key) && alltrue([for value in values : value == lower(value)])])
    error_message = "Lake Formation keeps keys and values in lower case; write them so, or every plan shows a difference."
  }

  validation {
    condition     = alltrue([for key, values in var.ontology : can(regex("^[\\p{L}\\p{Z}\\p{N}_.:/=+@%-]{1,128}$", key))])
    error_message = "A key has 1 to 128 letters, digits, spaces or _ . : / = + - @ %."
  }

  validation {
    condition     = alltrue([for values in values(var.ontology) : length(values) > 0 && length(values) <= 1000])
    error_message = "A key takes 1 to 1,000 values."
  }
}

variable "domain_accounts" {
  description = "The AWS accounts of the domains, by domain name: each may read the ontology and attach its tags to its own tables, and pass that right on to its job roles."
  type        = map(string)
  default     = {}

  validation {
    condition     = alltrue([for account in values(var.domain_accounts) : can(regex("^[0-9]{12}$", account))])
    error_message = "An account id has twelve digits; quote it, or a leading zero is lost."
  }
}
