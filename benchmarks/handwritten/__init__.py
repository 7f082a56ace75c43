"""The fraud product as its team wrote it before there was an executor: no line of it is the executor's."""
