resource "aws_s3_bucket" "this" {
  bucket        = var.bucket_name
  force_destroy = var.force_destroy
}

resource "aws_s3_bucket_versioning" "this" {
  bucket = aws_s3_bucket.this.id

  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "this" {
  bucket = aws_s3_bucket.this.id

  rule {
    bucket_key_enabled = length(var.kms_key_arns) > 0

    apply_server_side_encryption_by_default {
      sse_algorithm     = length(var.kms_key_arns) > 0 ? "aws:kms" : "AES256"
      kms_master_key_id = length(var.kms_key_arns) > 0 ? var.kms_key_arns[0] : null
    }
  }
}

resource "aws_s3_bucket_public_access_block" "this" {
  bucket = aws_s3_bucket.this.id

  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_policy" "this" {
  bucket = aws_s3_bucket.this.id
  policy = data.aws_iam_policy_document.bucket.json

  depends_on = [aws_s3_bucket_public_access_block.this]
}

# What is deployed, for `sync`: it refuses a descriptor that no role here covers.
resource "aws_s3_object" "deployed" {
  bucket       = aws_s3_bucket.this.id
  key          = "config/deployed.json"
  content_type = "application/json"

  content = jsonencode({
    domain = var.domain
    apply  = var.applied_from
    jobs = {
      for name, job in local.jobs : name => {
        descriptor = job.descriptor
        source     = local.sources[name]
        target     = { database = local.targets[name].database, table = local.targets[name].table, location = local.targets[name].location }
      }
    }
  })
}
