"""For each job that the table's TTL removed: remove what belongs to it."""

from carillon import bootstrap

handler = bootstrap.retention()
