variable "weight" {
  default = 10
}
