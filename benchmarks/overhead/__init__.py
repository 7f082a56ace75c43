"""The executor against the job it replaces: the same work, alternating, on the same machine and the same lake."""
