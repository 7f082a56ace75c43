locals {
  prefix = "pipeline-runtime/"
}

resource "aws_s3_bucket" "this" {
  #checkov:skip=CKV2_AWS_61:Every published version stays, since runs name it in their provenance; nothing here expires.
  #checkov:skip=CKV2_AWS_62:Nothing waits for a new version; a deployment names the one it runs.
  #checkov:skip=CKV_AWS_144:A version is built again, byte for byte, from the commit that its manifest names.
  #checkov:skip=CKV_AWS_145:What lies here is code that every domain's account reads; see the encryption below.
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
    # S3's own key: what lies here is code that every domain account reads; a key of ours would have to be
    # shared with each of them and protects nothing more.
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

# Made from what is deployed, so that a producer's build asks a new domain without anybody remembering it.
resource "aws_s3_object" "domain_repositories" {
  count = length(var.domain_repositories) == 0 ? 0 : 1

  bucket       = aws_s3_bucket.this.id
  key          = "${local.prefix}domain-repositories.txt"
  content_type = "text/plain"
  content      = join("", [for repository in sort(distinct(values(var.domain_repositories))) : "${repository}\n"])

  # Put before the bucket keeps versions, it would be one that no destroy takes away.
  depends_on = [aws_s3_bucket_versioning.this]
}
