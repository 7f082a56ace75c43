output "job_names" {
  description = "The jobs, by the names that a scheduler starts them by."
  value       = sort(keys(aws_glue_job.this))
}

output "descriptors" {
  description = "Each job's descriptor, by its path in the domain's repository."
  value       = { for name, job in local.jobs : name => job.descriptor }
}

output "orchestrated_jobs" {
  description = "The jobs that the orchestrator starts, and when; `descriptor` is where the domain's CI puts it for the orchestrator."
  value = {
    for name, job in local.jobs : name => {
      descriptor = "domains/${var.domain}/pipelines/${basename(job.descriptor)}"
      schedule   = job.orchestrated.schedule
      collects   = job.orchestrated.collects
    } if job.orchestrated != null
  }
}

output "job_role_arns" {
  description = "Each job's role: what a producer's account grants access to."
  value       = { for name, role in aws_iam_role.job : name => role.arn }
}

output "config" {
  description = "The prefix that the domain's CI syncs to."
  value       = local.config
}

output "evidence" {
  description = "The prefix that the runs' evidence is kept in."
  value       = local.evidence
}

output "owner_topic_arn" {
  description = "The topic that owners are told by."
  value       = aws_sns_topic.owners.arn
}

output "closer_role_arn" {
  description = "The role that the closer assumes in this account; null where there is no closer."
  value       = one(aws_iam_role.closer[*].arn)
}
