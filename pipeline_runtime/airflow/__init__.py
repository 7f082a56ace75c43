"""One DAG a descriptor: when its Glue job is started, and after what. What the job does is not told here.

    periods.py      a run's nominal time, which is its partition key in Airflow
    runs.py         the arguments that a job run gets, and the ids of the runs that a task makes
    operator.py     the task: start, follow, say how it ended
    dags.py         the loop

Only the last two import Airflow. Which jobs there are, and which product is made of which, `scheduling` knows.
"""
