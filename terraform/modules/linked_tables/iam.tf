# Nothing: `shared_tables` of the owner's account shares the table with this one, and `transform_jobs` lets the role of
# a job that reads it see the link and read what it leads to.
