resource "aws_s3_bucket" "this" {
  #checkov:skip=CKV2_AWS_61:Evidence is kept as long as the company's rules of retention say; a rule here would delete what an audit asks for.
  #checkov:skip=CKV2_AWS_62:The scheduler starts the jobs; nothing reacts to single files.
  #checkov:skip=CKV_AWS_144:Evidence stays in the region of the data that it speaks of; a copy elsewhere is the company's decision.
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
    bucket_key_enabled = true

    apply_server_side_encryption_by_default {
      sse_algorithm     = "aws:kms"
      kms_master_key_id = local.kms_key_arn
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

resource "aws_s3_bucket_logging" "this" {
  count = var.access_log_bucket == null ? 0 : 1

  bucket        = aws_s3_bucket.this.id
  target_bucket = var.access_log_bucket
  target_prefix = "${aws_s3_bucket.this.id}/"
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

  # Put before the bucket keeps versions, it would be one that no destroy takes away.
  depends_on = [aws_s3_bucket_versioning.this]
}
