"""`carillon jobs import`: schedules of other systems become jobs."""
