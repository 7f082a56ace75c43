variable "dags" {
  description = "Where the orchestrator reads the domain's descriptors."
  type        = string
  default     = null
}
