"""What stands in for AWS on one machine: for `make run` and for the tests, never deployed."""
