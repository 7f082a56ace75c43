variable "readers" {
  description = "The readers' accounts, by domain."
  type        = map(string)
  default     = { finance = "666677778888" }
}
