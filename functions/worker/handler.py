"""For each message of a work queue: start the run, call the target, record the outcome."""

from carillon import bootstrap

handler = bootstrap.worker()
