"""For each message of the queue of operations: carry the operation on, a page of jobs at a time."""

from carillon import bootstrap

handler = bootstrap.operations()
