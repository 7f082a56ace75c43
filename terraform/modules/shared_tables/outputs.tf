output "tables" {
  description = "Each shared table as its owner's catalog has it: account, database, table, and the location of its files. What `linked_tables` of a reader links to."
  value = {
    for table, place in local.places : table => {
      account  = data.aws_caller_identity.this.account_id
      database = place.database
      table    = place.name
      location = data.aws_glue_catalog_table.this[table].storage_descriptor[0].location
    }
  }
}
