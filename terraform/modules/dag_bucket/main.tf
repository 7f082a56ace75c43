data "aws_region" "this" {}

locals {
  descriptors = { for domain in keys(var.descriptor_writer_arns) : domain => "dags/domains/${domain}/pipelines" }

  settings = { retries = var.retries, retry_seconds = var.retry_seconds, poll_seconds = var.poll_seconds }

  # `pipeline_runtime.scheduling.deployment` says what may be in it, and has the defaults of what is left out.
  deployment = merge({ for key, value in local.settings : key => value if value != null }, {
    region = data.aws_region.this.name
    domains = {
      for domain, entry in var.deployments : domain => merge(
        {
          role_arn = entry.role_arn
          jobs     = { for name, job in entry.jobs : name => { for key, value in job : key => value if value != null } }
        },
        entry.external_id == null ? {} : { external_id = entry.external_id },
      )
    }
  })
}

resource "aws_s3_bucket" "this" {
  #checkov:skip=CKV2_AWS_61:Amazon MWAA names the version of requirements.txt that it runs, so earlier versions stay.
  #checkov:skip=CKV2_AWS_62:Airflow looks at the folder by itself; nothing waits for a single file.
  #checkov:skip=CKV_AWS_144:Everything here is made again from repositories and from Terraform's state.
  #checkov:skip=CKV_AWS_145:What lies here is declarations that every domain's account writes; see the encryption below.
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
    # S3's own key: a key of ours would have to be shared with every domain's CI, and with MWAA's environment.
    apply_server_side_encryption_by_default {
      sse_algorithm = "AES256"
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

resource "aws_s3_bucket_logging" "this" {
  count = var.access_log_bucket == null ? 0 : 1

  bucket        = aws_s3_bucket.this.id
  target_bucket = var.access_log_bucket
  target_prefix = "${aws_s3_bucket.this.id}/"
}

resource "aws_s3_bucket_policy" "this" {
  bucket = aws_s3_bucket.this.id
  policy = data.aws_iam_policy_document.bucket.json

  depends_on = [aws_s3_bucket_public_access_block.this]
}

resource "aws_s3_object" "deployment" {
  bucket       = aws_s3_bucket.this.id
  key          = "dags/deployment.json"
  content_type = "application/json"
  content      = jsonencode(local.deployment)

  # Put before the bucket keeps versions, it would be one that no destroy takes away.
  depends_on = [aws_s3_bucket_versioning.this]
}
