variable "tables" {
  description = "The source tables, by the name of their landing table."
  type = map(object({
    schema       = string
    table        = string
    columns      = list(object({ name = string, type = string }))
    primary_keys = list(string)
    lf_tags      = optional(map(string), {})
  }))
  default = {
    claims = {
      schema       = "public"
      table        = "claims"
      columns      = [{ name = "claim_id", type = "string" }, { name = "amount_claimed", type = "decimal(12,2)" }]
      primary_keys = ["claim_id"]
      lf_tags      = { sensitivity = "high", residency = "eu" }
    }
  }
}
