"""One DAG a descriptor: when its Glue job is started, and after what. What the job does is not told here.

    deployment.py   which jobs there are, as whom they are started and when: from Terraform's outputs
    products.py     which product is made of which, from the descriptors
    periods.py      a run's nominal time, which is its partition key in Airflow
    runs.py         the arguments that a job run gets, and the ids of the runs that a task makes
    operator.py     the task: start, follow, say how it ended
    dags.py         the loop

Only the last two import Airflow. The others work, and are tested, without it.
"""
