variable "tables" {
  description = "The links, and where they lead."
  type        = map(object({ account = string, database = string, table = string, location = string }))
  default = {
    "fraud_raw.transactions" = { account = "444455556666", database = "fraud_raw", table = "transactions", location = "s3://cordata-fraud-raw-eu-central-1/transactions" }
  }
}
