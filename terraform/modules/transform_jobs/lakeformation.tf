# What a descriptor needs of Lake Formation. Whoever applies this must be a data lake administrator of the account.

locals {
  tables = {
    for name in keys(local.jobs) : name => {
      source = local.sources[name]
      target = "${local.targets[name].database}.${local.targets[name].table}"
    }
  }

  # Where source and target share a database, one grant names both permissions: two on one resource undo each other.
  database_grants = merge([
    for name in keys(local.jobs) : {
      for database in distinct([split(".", local.tables[name].source)[0], local.targets[name].database]) :
      "${name}/${database}" => {
        job         = name
        database    = database
        permissions = database == local.targets[name].database ? ["CREATE_TABLE", "DESCRIBE"] : ["DESCRIBE"]
      }
    }
  ]...)

  # A link is described, what it leads to is read. What a JDBC source's entry leads to is no table of the lake.
  source_grants = merge([
    for name, source in local.tables : {
      for place in local.catalog_sources[name] :
      "${name}/${place.account == local.account ? "" : "${place.account}:"}${place.database}.${place.table}" => {
        job         = name
        place       = place
        permissions = place == reverse(local.catalog_sources[name])[0] && contains(keys(local.stored), name) ? ["DESCRIBE", "SELECT"] : ["DESCRIBE"]
      }
    }
  ]...)

  # Only who holds all of this with the right to pass it on may tag a table that somebody else made.
  everything = ["ALTER", "DELETE", "DESCRIBE", "DROP", "INSERT", "SELECT"]

  existing_grants = merge([
    for name in keys(local.jobs) : {
      for table, permissions in {
        (local.tables[name].target)                = { held = local.everything, passed_on = local.everything }
        "${local.tables[name].target}__quarantine" = { held = ["ALTER", "DELETE", "DESCRIBE", "INSERT", "SELECT"], passed_on = [] }
      } : "${name}/${table}" => merge(permissions, { job = name, table = table }) if contains(var.existing_targets, table)
    }
  ]...)

  closer_grants = var.closer_role_arn == null ? {} : {
    for key, grant in local.existing_grants : grant.table => (
      local.targets[grant.job].kind == "parquet" && !endswith(grant.table, "__quarantine") ? ["ALTER", "DESCRIBE"] : ["DESCRIBE"]
    )...
  }

  location_grants = merge([
    for name, target in local.targets : {
      for place in [for suffix in ["", "__quarantine"] : "${trimsuffix(target.location, "/")}${suffix}/"] :
      "${name}/${place}" => { job = name, place = regex(local.place, place) }
      if anytrue([for registered in var.registered_locations : startswith(place, "${trimsuffix(registered, "/")}/")])
    }
  ]...)

  # A descriptor's second version keeps the contract with the target.
  lf_tags = { for name, descriptor in local.descriptors : name => try(descriptor.target.contract.lf_tags, descriptor.contract.lf_tags, {}) }

  tag_grants = merge([
    for name, tags in local.lf_tags : {
      for key, value in tags : "${name}/${lower(key)}" => { job = name, key = lower(key), value = lower(value) }
    }
  ]...)
}

resource "aws_lakeformation_permissions" "database" {
  for_each = local.database_grants

  principal   = aws_iam_role.job[each.value.job].arn
  permissions = each.value.permissions

  database {
    catalog_id = local.account
    name       = each.value.database
  }
}

resource "aws_lakeformation_permissions" "source" {
  for_each = local.source_grants

  principal   = aws_iam_role.job[each.value.job].arn
  permissions = each.value.permissions

  table {
    catalog_id    = each.value.place.account
    database_name = each.value.place.database
    name          = each.value.place.table
  }
}

# A table that the job makes itself is the role's own, with every permission; Lake Formation grants nothing on one
# that is not there.
resource "aws_lakeformation_permissions" "target" {
  for_each = local.existing_grants

  principal                     = aws_iam_role.job[each.value.job].arn
  permissions                   = each.value.held
  permissions_with_grant_option = each.value.passed_on

  table {
    catalog_id    = local.account
    database_name = split(".", each.value.table)[0]
    name          = split(".", each.value.table)[1]
  }
}

resource "aws_lakeformation_permissions" "closer" {
  for_each = local.closer_grants

  principal   = aws_iam_role.closer[0].arn
  permissions = sort(distinct(flatten(each.value)))

  table {
    catalog_id    = local.account
    database_name = split(".", each.key)[0]
    name          = split(".", each.key)[1]
  }
}

resource "aws_lakeformation_permissions" "location" {
  for_each = local.location_grants

  principal   = aws_iam_role.job[each.value.job].arn
  permissions = ["DATA_LOCATION_ACCESS"]

  data_location {
    catalog_id = local.account
    arn        = "${local.s3}${each.value.place.bucket}/${each.value.place.prefix}"
  }
}

resource "aws_lakeformation_permissions" "tag" {
  for_each = local.tag_grants

  principal   = aws_iam_role.job[each.value.job].arn
  permissions = ["ASSOCIATE", "DESCRIBE"]

  lf_tag {
    catalog_id = coalesce(var.governance_catalog_id, local.account)
    key        = each.value.key
    values     = [each.value.value]
  }
}
